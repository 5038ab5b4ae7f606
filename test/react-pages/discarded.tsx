/**
 * A component that React renders in vain: its state is set to what it is already, while a value that it reads is another and
 * nobody was told yet. `inVain` of the page does that, and gives what its effect was run with.
 */
import { useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { useTracked } from "../../src/client/react/tracked.ts";

const listeners = new Set<() => void>();
const source = {
  values: { count: 0 },
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};
const effects: number[] = [];
let renders = 0;
let change: (value: number) => void = () => undefined;

function Counter() {
  const { count } = useTracked(source, { count: 0 }, {});
  const [, setOwn] = useState(0);
  change = setOwn;
  renders += 1;
  useEffect(() => void effects.push(count), [count]);
  return <p>{count}</p>;
}

const root = document.createElement("div");
const drawn = createRoot(root);

/** Renders in vain with a value that is told of later. */
function inVain(): { readonly effects: readonly number[]; readonly renders: number; readonly text: string } {
  flushSync(() => drawn.render(<Counter />));
  flushSync(() => change(1));
  source.values = { count: 1 };
  const before = renders;
  // React still looks at a component once more that it has just rendered, and then finds nothing new.
  flushSync(() => change(1));
  const inBetween = renders - before;
  flushSync(() => {
    for (const listener of listeners) listener();
  });
  // Effects of a render run before the next one at the latest.
  flushSync(() => change(2));
  return { effects, renders: inBetween, text: root.textContent };
}

Object.assign(globalThis, { inVain });
