/** Copies a text, and says so. */
import type { ReactElement } from "react";
import { Button } from "./button.tsx";
import { say } from "./toast.tsx";

/** Copies a text; says what was copied. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied.`);
  } catch {
    // Where the page is not served safely there is no clipboard.
    say("The browser does not allow copying here. Select the text instead.", { failure: true });
  }
}

/** A button that copies; a function is asked for the text when it is pressed. */
export function CopyButton({
  text,
  what,
  label = "Copy",
}: {
  readonly text: string | (() => string);
  readonly what: string;
  readonly label?: string;
}): ReactElement {
  return (
    <Button small icon="copy" onClick={() => void copy(typeof text === "string" ? text : text(), what)}>
      {label}
    </Button>
  );
}
