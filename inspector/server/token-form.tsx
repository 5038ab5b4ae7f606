/** Asks for a token, where the server wants one. */
import { useState } from "react";
import type { FormEvent, ReactElement } from "react";
import { Button } from "../ui/button.tsx";
import { usePageTitle } from "../page-title.ts";
import "./token-form.css";

/** Asks for a token. */
export function TokenForm({
  problem,
  onToken,
}: {
  readonly problem: string | undefined;
  readonly onToken: (token: string) => void;
}): ReactElement {
  const [token, setToken] = useState("");
  usePageTitle("Sign in");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token.trim() !== "") onToken(token.trim());
  };
  return (
    <main className="token-form">
      <form onSubmit={submit}>
        <img src="./icon.svg" alt="" width="40" height="40" />
        <h1>Sign in to Heddle</h1>
        <p>
          This server wants to know who you are. Paste a token: a key that it was started with, or a JWT of your issuer.
        </p>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          value={token}
          aria-invalid={problem !== undefined}
          aria-describedby="token-problem"
          onChange={(event) => setToken(event.currentTarget.value)}
          autoFocus
        />
        <p id="token-problem" role="alert" className="token-problem">
          {problem}
        </p>
        <Button type="submit" kind="primary" disabled={token.trim() === ""}>
          Sign in
        </Button>
        <p className="token-note">It stays in this tab and is sent to this server only.</p>
      </form>
    </main>
  );
}
