/** Who uses the page now: what somebody wrote and did not send is kept by it, and not shown to whoever signs in after them. */
import type { Me } from "./api.ts";

let current = "";

/** Says who it is, before anything is shown to them. */
export function setPerson({ tenant, user, authenticated }: Me): void {
  current = authenticated ? JSON.stringify([tenant, user]) : "";
}

/** Who it is. */
export const person = (): string => current;
