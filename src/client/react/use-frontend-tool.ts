/** A tool that the page executes, offered while a component is shown. */
import { useEffect, useRef } from "react";
import type { FrontendTool } from "../index.ts";
import { useHeddle } from "./provider.tsx";

/** Offers a tool in every thread of the client while the component is shown. Its handler may be another at each render. */
export function useFrontendTool<A>(tool: FrontendTool<A>): void {
  const client = useHeddle();
  const newest = useRef(tool);
  const { name, description, parameters } = tool;
  const schema = JSON.stringify(parameters);
  useEffect(() => {
    newest.current = tool;
  });
  useEffect(
    () =>
      client.tool<A>({
        name,
        description,
        ...(schema !== undefined && { parameters: JSON.parse(schema) }),
        handler: (args, call) => newest.current.handler(args, call),
      }),
    [client, name, description, schema],
  );
}
