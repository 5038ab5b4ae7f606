/**
 * Which components render, told by React itself: through the hook that its developer tools use, which has to be there before
 * React is. A component that ran in a commit is noted as `<name>`, and as `<name> <id>` below the message of that id.
 */

interface Fiber {
  readonly type: unknown;
  readonly key: string | null;
  readonly flags: number;
  readonly alternate: Fiber | null;
  readonly child: Fiber | null;
  readonly sibling: Fiber | null;
}

/** What rendered since this was emptied last, in order. */
export const renders: string[] = [];

/** React's flag for a fiber whose component ran. */
const PERFORMED_WORK = 1;

function nameOf(type: unknown): string | undefined {
  const inner: unknown = typeof type === "function" ? type : Object(type).type;
  return typeof inner === "function" ? inner.name : undefined;
}

function walk(fiber: Fiber, message: string | undefined): void {
  const name = nameOf(fiber.type);
  const below = name === "Message" && fiber.key !== null ? fiber.key : message;
  const ran = name !== undefined && (fiber.flags & PERFORMED_WORK) !== 0;
  if (ran) renders.push(below === undefined ? name : `${name} ${below}`);
  // Children that are the very same fibers as before were not looked at.
  if (fiber.alternate !== null && fiber.alternate.child === fiber.child) return;
  for (let child = fiber.child; child !== null; child = child.sibling) walk(child, below);
}

Object.assign(globalThis, {
  __REACT_DEVTOOLS_GLOBAL_HOOK__: {
    isDisabled: false,
    supportsFiber: true,
    renderers: new Map(),
    inject: () => 1,
    onCommitFiberUnmount: () => undefined,
    onPostCommitFiberRoot: () => undefined,
    onCommitFiberRoot: (_: number, root: { readonly current: Fiber }) => walk(root.current, undefined),
    checkDCE: () => undefined,
  },
});
