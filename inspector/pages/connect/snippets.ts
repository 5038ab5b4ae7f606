/**
 * The few lines for each client and framework, with a server's address and an agent's name filled in. Every `.ts` and `.tsx` file here
 * is type-checked by a test as it is shown, but for those of packages that this repository does not have; those for Node that
 * need no service of others are run by it.
 */
import { CLIENT_SNIPPETS } from "./client-snippets.ts";
import { AGENT_SNIPPETS } from "./agent-snippets.ts";

/** What is filled in. */
export interface Place {
  /** The server's address, without a slash at the end. */
  readonly url: string;
  /** The agent that is asked. */
  readonly agent: string;
  /** Whether the server asks for a token. */
  readonly authenticated: boolean;
}

/** A file of a snippet. */
export interface SnippetFile {
  /** What it is called; a test goes by its ending. */
  readonly name: string;
  /** What is in it. */
  readonly code: (place: Place) => string;
}

/** The lines for one client or framework. */
export interface Snippet {
  /** Its name in the address. */
  readonly id: string;
  /** What it is called. */
  readonly title: string;
  /** What it is for, in a sentence or two. */
  readonly text: string;
  /** Its files. */
  readonly files: readonly SnippetFile[];
  /** What to type before and after. */
  readonly shell?: string;
}

/** The two kinds. */
export const SNIPPETS: { readonly [kind in "use" | "build"]: readonly Snippet[] } = {
  use: CLIENT_SNIPPETS,
  build: AGENT_SNIPPETS,
};
