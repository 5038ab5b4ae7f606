/** Tells whoever asked what an adapter left out, each thing once. */

/** Takes a sentence that names what was left out. */
export type OnWarning = (message: string) => void;

/** A reporter that says each sentence once. */
export function warnOnce(onWarning: OnWarning | undefined): OnWarning {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message)) return;
    said.add(message);
    onWarning?.(message);
  };
}
