/** The page in a browser: drawn, or taken over where it came from a server. Its address says which thread of which server. */
import { renders } from "./renders.ts";
import { StrictMode } from "react";
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

if (root.hasChildNodes()) {
  void hydrate();
} else {
  const drawn = createRoot(root);
  Object.assign(globalThis, { unmount: () => drawn.unmount() });
  drawn.render(
    <StrictMode>
      <App url={server} thread={thread} />
    </StrictMode>,
  );
}
