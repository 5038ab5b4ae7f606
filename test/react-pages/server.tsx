/** The page on a server: its HTML. */
import { StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { connect } from "heddle/client";
import { Composer, HeddleProvider } from "heddle/react";
import { App } from "./app.tsx";

/** The HTML of the page, before anything is known of its thread. Any request that is made fails. */
export function html(thread: string): string {
  const requests: unknown[] = [];
  const client = connect("http://127.0.0.1:1", {
    fetch: async (input) => {
      requests.push(input);
      throw new TypeError("no request belongs here");
    },
  });
  const text = renderToString(
    <StrictMode>
      <App client={client} thread={thread} />
    </StrictMode>,
  );
  if (requests.length > 0) throw new Error(`requests while rendering: ${requests.join()}`);
  return text;
}

/** Renders a part that lacks what has to stand around it: all, or the thread. Throws. */
export function astray(lacks: "client" | "thread"): string {
  const part = <Composer />;
  return renderToString(lacks === "client" ? part : <HeddleProvider url="http://127.0.0.1:1">{part}</HeddleProvider>);
}
