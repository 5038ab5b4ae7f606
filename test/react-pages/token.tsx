/** A page whose token comes later than the page, and is another one after that. Says which tokens the server was asked with. */
import { createElement, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { HeddleProvider, useHeddle } from "heddle/react";

const asked: string[] = [];

/** Never answers; leaves when it is told to. */
const note: typeof fetch = (_, init) => {
  const token = new Headers(init?.headers).get("authorization") ?? "none";
  asked.push(token);
  return new Promise((_resolve, reject) => {
    init?.signal?.addEventListener("abort", () => {
      asked.push(`left ${token}`);
      reject(new Error("left"));
    });
  });
};

let give: (token: string) => void = () => undefined;
let mounts = 0;

function List(): null {
  const { threads } = useHeddle();
  useEffect(() => void (mounts += 1), []);
  // It is left when its client is, and not before.
  useEffect(() => void threads.live(() => undefined), [threads]);
  return null;
}

function Page() {
  const [token, setToken] = useState<string>();
  give = setToken;
  return createElement(
    HeddleProvider,
    { url: location.origin, fetch: note, ...(token !== undefined && { token }) },
    createElement(List),
  );
}

Object.assign(globalThis, {
  begin: () => createRoot(document.body).render(createElement(Page)),
  give: (token: string) => give(token),
  told: () => ({ asked: asked.toSorted(), mounts }),
});
