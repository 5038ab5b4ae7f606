/** A length in pixels, meant for text of the usual size, at the size of text that the reader chose. */
export const scaled = (px: number): number =>
  (px * Number.parseFloat(getComputedStyle(document.documentElement).fontSize)) / 16;
