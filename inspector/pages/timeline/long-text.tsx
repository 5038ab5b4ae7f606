/** A text of any length: what is long is cut around the part that matters, with a way to see all of it. */
import { useState } from "react";
import type { ReactElement } from "react";
import { formatCount } from "../../ui/format.ts";

/** More than this at once takes browsers longer than a blink to lay out. */
const SHOWN_CHARS = 20_000;

/** A text; `part` of it is marked, where there is one, and stays in sight. */
export function LongText({
  before = "",
  part,
  after = "",
}: {
  readonly before?: string;
  readonly part?: string;
  readonly after?: string;
}): ReactElement {
  const [isWhole, setWhole] = useState(false);
  const most = isWhole ? Infinity : SHOWN_CHARS;
  const marked = part?.slice(0, most);
  const shownBefore = before.length > most ? before.slice(-most) : before;
  const shownAfter = after.slice(0, most);
  const total = before.length + (part?.length ?? 0) + after.length;
  const hidden = total - shownBefore.length - (marked?.length ?? 0) - shownAfter.length;
  return (
    <>
      <p className="timeline-text">
        {shownBefore.length < before.length && "… "}
        {shownBefore}
        {marked !== undefined && <mark>{marked}</mark>}
        {marked?.length !== part?.length && " … "}
        {shownAfter}
        {shownAfter.length < after.length && " …"}
      </p>
      {hidden > 0 && (
        <button type="button" className="json-more" onClick={() => setWhole(true)}>
          {formatCount(hidden)} more characters
        </button>
      )}
    </>
  );
}
