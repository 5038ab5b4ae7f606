/** What of a request tells who asks; hosts make it from theirs. */

/** A request, as far as it tells who asks. */
export interface AuthRequest {
  /** Method, in upper case. */
  readonly method: string;
  /** Path, without the query. */
  readonly path: string;
  /** A header's value, by its name in lower case; several values are joined by a comma. */
  header(name: string): string | undefined;
  /** The query. */
  readonly query: URLSearchParams;
}
