/**
 * The way to the server for everything below: who asks, and with which token. A server that wants one is asked for with a
 * form; the token stays in this tab. Nothing is shown before it is known who asks.
 */
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { HeddleError } from "heddle/protocol";
import { HeddleProvider } from "heddle/react";
import { keptForTab } from "../kept.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { Loading } from "../ui/loading.tsx";
import { setPerson } from "./person.ts";
import { Server, pageUrl } from "./server.ts";
import { TokenForm } from "./token-form.tsx";
import type { Me } from "./api.ts";

/** The way to the server. */
export interface Connection {
  /** Requests. */
  readonly server: Server;
  /** Who asks. */
  readonly me: Me;
  /** Asks for another token. */
  readonly signOut: () => void;
}

const ConnectionContext = createContext<Connection | undefined>(undefined);

/** The way to the server, in a component. */
export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === undefined) throw new Error("useConnection is used outside of ConnectionRoot.");
  return connection;
}

const TOKEN_KEY = "heddle-token";
/** A server that is away is asked again so often. */
const RETRY_MS = 2000;

type Answer = { readonly of: Server; readonly me?: Me; readonly error?: HeddleError };

/** Connects whatever is below. */
export function ConnectionRoot({ children }: { readonly children: ReactNode }): ReactElement {
  const [token, setToken] = useState(() => keptForTab.get(TOKEN_KEY));
  const [attempt, setAttempt] = useState(0);
  const server = useMemo(() => new Server(pageUrl(), token), [token, attempt]);
  const [answer, setAnswer] = useState<Answer>();
  const choose = useCallback((chosen: string | undefined) => {
    if (chosen === undefined) keptForTab.remove(TOKEN_KEY);
    else keptForTab.set(TOKEN_KEY, chosen);
    setToken(chosen);
    setAttempt((count) => count + 1);
  }, []);
  useEffect(() => {
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    server.json<Me>("/me", { signal: gone.signal }).then(
      (me) => {
        setPerson(me);
        return setAnswer({ of: server, me });
      },
      (error: unknown) => {
        if (gone.signal.aborted || !(error instanceof HeddleError)) return;
        setAnswer({ of: server, error });
        if (error.retryable) timer = setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
      },
    );
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [server]);
  // While a server that is away is asked again, the page keeps saying so.
  const known = answer?.of === server || (answer?.error?.retryable && answer.of.token === token) ? answer : undefined;
  if (known === undefined) {
    return (
      <main className="alone">
        <Loading label="Asking the server who you are" />
      </main>
    );
  }
  const { me, error } = known;
  if (me !== undefined) {
    return (
      <Connected server={server} me={me} signOut={() => choose(undefined)}>
        {children}
      </Connected>
    );
  }
  if (error?.code === "unauthenticated") {
    return <TokenForm problem={token === undefined ? undefined : error.message} onToken={choose} />;
  }
  return (
    <main className="alone">
      <ErrorState title="The server cannot be reached" error={error} onRetry={() => setAttempt((count) => count + 1)} />
    </main>
  );
}

function Connected({ server, me, signOut, children }: Connection & { readonly children: ReactNode }): ReactElement {
  const value = useMemo(() => ({ server, me, signOut }), [server, me]);
  const { url, token } = server;
  // One WebSocket for all threads: streams of their own would use up the connections that a browser allows. It goes with who asks.
  return (
    <ConnectionContext.Provider value={value}>
      <HeddleProvider url={url} transport="websocket" {...(token !== undefined && { token })}>
        {children}
      </HeddleProvider>
    </ConnectionContext.Provider>
  );
}
