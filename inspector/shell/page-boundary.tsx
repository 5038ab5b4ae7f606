/** Where a page breaks, the rest stays usable. */
import { Component } from "react";
import type { ReactNode } from "react";
import { ErrorState } from "../ui/error-state.tsx";

/** Shows what broke in place of the page. */
export class PageBoundary extends Component<{ readonly children: ReactNode }, { readonly error: Error | undefined }> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown): { readonly error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    const retry = (): void => this.setState({ error: undefined });
    return <ErrorState title="This page broke" error={error} onRetry={retry} />;
  }
}
