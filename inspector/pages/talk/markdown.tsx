/**
 * Text of an agent as Markdown. HTML in it stays text, and images elsewhere become links: the page asks nobody but its server for
 * anything. A text that is still growing is drawn when the browser has time for it.
 */
import { memo, useDeferredValue } from "react";
import type { ComponentType, ReactElement } from "react";
import ReactMarkdown from "react-markdown";
import type { Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import "./markdown.css";

/** Longer texts are shown as they are: drawing them anew for each word would hold the page up. */
const MAX_CHARACTERS = 60_000;

/** So are those that quote quotes or list lists this deep: nothing draws them without breaking. */
const TOO_DEEP = /^[ \t]*(?:(?:>|[*+-][ \t]|\d+[.)][ \t])[ \t]*){100}/m;

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  ),
  img: ({ src, alt }) =>
    typeof src === "string" && src.startsWith("data:image/") ? (
      <img src={src} alt={alt ?? ""} />
    ) : (
      <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer">
        Image: {alt === undefined || alt === "" ? String(src ?? "without an address") : alt}
      </a>
    ),
  pre: ({ children }) => (
    <pre tabIndex={0} role="group" aria-label="Code">
      {children}
    </pre>
  ),
  table: ({ children }) => (
    <div className="markdown-table" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
};

/** A text. */
export function Markdown({ text }: { readonly text: string }): ReactElement {
  const shown = useDeferredValue(text);
  const isPlain = shown.length > MAX_CHARACTERS || TOO_DEEP.test(shown);
  return isPlain ? <p className="markdown-plain">{shown}</p> : <Drawn text={shown} />;
}

const Drawn: ComponentType<{ readonly text: string }> = memo(function Drawn({ text }: { readonly text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={safeUrl}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

/** Addresses that do nothing but lead somewhere. */
function safeUrl(url: string): string {
  if (/^data:image\/(?:png|jpe?g|gif|webp|avif);/i.test(url)) return url;
  return /^(?:https?:|mailto:|tel:|#|\/|\.)/i.test(url) || !/^[\w+.-]+:/.test(url) ? url : "";
}
