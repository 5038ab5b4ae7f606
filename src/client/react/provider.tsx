/**
 * The client that the components below use: one that is given, or one of their own, which is let go of when nothing of them
 * is left. StrictMode takes everything away and puts it back at once; that ends nothing.
 */
import { createContext, useContext, useEffect, useRef, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { HeddleError } from "../../protocol/index.ts";
import { connect } from "../index.ts";
import type { ConnectOptions, HeddleClient, Token } from "../index.ts";

/** A client, or where to find the server. */
export type HeddleProviderProps = (
  | { readonly client: HeddleClient }
  | ({ readonly client?: undefined; readonly url: string } & ConnectOptions)
) & { readonly children?: ReactNode };

const ClientContext = createContext<HeddleClient | undefined>(undefined);

/** Gives a client to the components below. Options other than `url` and `token` count when they are first given. */
export function HeddleProvider(props: HeddleProviderProps): ReactElement {
  if (props.client === undefined) return <OwnClient key={props.url} {...props} />;
  return <ClientContext.Provider value={props.client}>{props.children}</ClientContext.Provider>;
}

const ASKED = Symbol("a function gives the token");

type OwnClientProps = { readonly url: string; readonly children?: ReactNode } & ConnectOptions;

/** A client that nothing on the page uses: it is let go of, unless something does again at once. */
interface Leaving {
  readonly client: HeddleClient;
  readonly timer: ReturnType<typeof setTimeout>;
  isOver: boolean;
}

function OwnClient({ url, children, token, ...options }: OwnClientProps): ReactElement {
  const newest = useRef(token);
  useEffect(() => {
    newest.current = token;
  });
  const ask: Token = () => (typeof newest.current === "function" ? newest.current() : newest.current);
  const begin = (): HeddleClient => connect(url, { ...options, token: typeof token === "function" ? ask : token });
  const [client, setClient] = useState(begin);
  // Functions are asked each time; any other token is its client's for good, so another one has another client.
  const kind = typeof token === "function" ? ASKED : token;
  const [of, setOf] = useState(kind);
  if (of !== kind) {
    setOf(kind);
    setClient(begin);
  }
  const leaving = useRef<Leaving>(undefined);
  useEffect(() => {
    const left = leaving.current;
    leaving.current = undefined;
    if (left?.client === client) {
      clearTimeout(left.timer);
      // What was hidden for a while, and is shown again, begins anew.
      if (left.isOver) setClient(begin);
    }
    return () => {
      const leave = (): void => {
        own.isOver = true;
        client.close();
      };
      const own: Leaving = { client, timer: setTimeout(leave, 0), isOver: false };
      leaving.current = own;
    };
  }, [client]);
  return <ClientContext.Provider value={client}>{children}</ClientContext.Provider>;
}

/** The client of the components around this one. */
export function useHeddle(): HeddleClient {
  const client = useContext(ClientContext);
  if (client === undefined) throw missing("HeddleProvider", "Put a <HeddleProvider url=…> around your app.");
  return client;
}

/** The error for a component that stands outside of what it needs. */
export function missing(setting: string, advice: string): HeddleError {
  const expected = `a <${setting}> around this component`;
  return new HeddleError("config-invalid", `There is no <${setting}> around this component. ${advice}`, {
    setting,
    expected,
    received: "none",
  });
}
