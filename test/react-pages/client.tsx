/** The page in a browser: drawn, or taken over where it came from a server. Its address says which thread of which server. */
import { renders } from "./renders.ts";
import * as React from "react";
import { StrictMode, useState } from "react";
import type { ComponentType, ReactNode } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { connect } from "heddle/client";
import { App } from "./app.tsx";

const { server = "", thread = "", restored } = Object.fromEntries(new URLSearchParams(location.search));
Object.assign(globalThis, { renders });
const root = document.querySelector("#root") ?? document.body;

/** Takes a page over. The thread may be there before React is: what the server drew is taken over nevertheless. */
async function hydrate(): Promise<void> {
  const client = connect(server);
  if (restored !== undefined) await client.thread(thread).restore();
  hydrateRoot(
    root,
    <StrictMode>
      <App client={client} thread={thread} />
    </StrictMode>,
    { onRecoverableError: (error) => reportError(error) },
  );
}

/** What may be hidden, where React can do that: its effects end, and its state stays. */
const Activity: ComponentType<{ readonly mode: "visible" | "hidden"; readonly children: ReactNode }> =
  Reflect.get(React, "Activity") ?? (({ children }) => children);

function Hideable() {
  const [mode, setMode] = useState<"visible" | "hidden">("visible");
  Object.assign(globalThis, { setMode });
  return (
    <Activity mode={mode}>
      <App url={server} thread={thread} />
    </Activity>
  );
}

if (root.hasChildNodes()) {
  void hydrate();
} else {
  const drawn = createRoot(root);
  Object.assign(globalThis, { unmount: () => drawn.unmount() });
  drawn.render(
    <StrictMode>
      <Hideable />
    </StrictMode>,
  );
}
