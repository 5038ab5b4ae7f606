/** Waiting, but not for ever. */

/** What a promise gives; undefined where that takes longer. Whoever comes too late is not heard, whatever it says. */
export async function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, timeoutMs);
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
