/** How long ago something was, kept up to date. */
import { useEffect, useState } from "react";
import type { ReactElement } from "react";
import { formatAgo, formatMoment } from "./format.ts";

/** A moment. */
export function TimeAgo({ at }: { readonly at: string }): ReactElement {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={formatMoment(ms)}>
      {formatAgo(ms, Math.max(now, ms))}
    </time>
  );
}
