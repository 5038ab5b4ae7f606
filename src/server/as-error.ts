/** Agents may throw anything, also what cannot be turned into text: whoever reports it should not have to know. */

/** Errors as they are; anything else as an error that says what was thrown, as far as that can be said. */
export function asError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
    return new Error(String(thrown), { cause: thrown });
  } catch {
    return new Error("Something was thrown that cannot be read.");
  }
}
