/** What trace a run belongs to, in the form in which one service tells another: W3C Trace Context. */

/** The headers to send along with requests that are made for a run. */
export interface TraceHeaders {
  /** Trace and span. */
  readonly traceparent: string;
  /** What vendors add. */
  readonly tracestate?: string;
}
