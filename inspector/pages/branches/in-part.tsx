/** Rows of which the first are drawn, and so many more whenever somebody asks: thousands at once would take seconds. */
import { Fragment, useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/format.ts";

const PART = 200;

/** The rows, and a way to see more of them. */
export function InPart<R>({
  rows,
  children,
}: {
  readonly rows: readonly R[];
  /** Draws one. */
  readonly children: (row: R) => ReactNode;
}): ReactElement {
  const [limit, setLimit] = useState(PART);
  const hidden = rows.length - limit;
  return (
    <>
      {rows.slice(0, limit).map((row, place) => (
        <Fragment key={place}>{children(row)}</Fragment>
      ))}
      {hidden > 0 && (
        <Button small onClick={() => setLimit(limit + PART)}>
          Show {formatCount(Math.min(hidden, PART))} more of {formatCount(hidden)}
        </Button>
      )}
    </>
  );
}
