/** Signs, drawn with lines of the colour of the text around. They say nothing to a screen reader. */
import type { ReactElement } from "react";

const PATHS = {
  talk: "M4 5h12a1.5 1.5 0 0 1 1.5 1.5v6A1.5 1.5 0 0 1 16 14H9l-4 3v-3H4a1.5 1.5 0 0 1-1.5-1.5v-6A1.5 1.5 0 0 1 4 5Z",
  timeline: "M3 5h8M6 10h9M4.5 15h6M14 5h3",
  travel: "M10 5.5V10l3 2M3.5 10a6.5 6.5 0 1 0 2-4.7M3 3.5V7h3.5",
  branches:
    "M6 7.5v5M6 7.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM6 16.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM14 9.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM14 9.5c0 3-4 2.5-7 4",
  threads: "M4 5.5h12M4 10h12M4 14.5h12",
  health: "M2.5 10.5h3.5l2-5 3.5 9 2-4h4",
  connect:
    "M8 12 5.8 14.2a2.8 2.8 0 0 1-4-4L5 7a2.8 2.8 0 0 1 4 0M12 8l2.2-2.2a2.8 2.8 0 0 1 4 4L15 13a2.8 2.8 0 0 1-4 0M8 12l4-4",
  plus: "M10 4v12M4 10h12",
  search: "M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM13 13l4 4",
  copy: "M7 7V4.5A1.5 1.5 0 0 1 8.5 3h7A1.5 1.5 0 0 1 17 4.5v7a1.5 1.5 0 0 1-1.5 1.5H13M4.5 7h7A1.5 1.5 0 0 1 13 8.5v7a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 3 15.5v-7A1.5 1.5 0 0 1 4.5 7Z",
  check: "m4 10.5 4 4 8-9",
  close: "m5 5 10 10M15 5 5 15",
  edit: "m4 16 .8-3.2L13.5 4a1.7 1.7 0 0 1 2.5 2.5l-8.8 8.7L4 16Z",
  trash: "M4 6h12M8 6V4h4v2M5.5 6l.7 10h7.6l.7-10",
  archive: "M3.5 4h13v3.5h-13zM5 7.5V16h10V7.5M8.5 10.5h3",
  download: "M10 3.5V13M6 9.5l4 4 4-4M4 16.5h12",
  upload: "M10 13.5V4M6 7.5l4-4 4 4M4 16.5h12",
  refresh: "M16 6.5A6.5 6.5 0 1 0 16.5 12M16.5 3v4H12.5",
  stop: "M6 6h8v8H6z",
  play: "M6.5 4.5 15 10l-8.5 5.5z",
  pause: "M7 4.5v11M13 4.5v11",
  back: "M12.5 4.5 7 10l5.5 5.5",
  forward: "M7.5 4.5 13 10l-5.5 5.5",
  first: "M15 4.5 9.5 10l5.5 5.5M5.5 4.5v11",
  last: "M5 4.5 10.5 10 5 15.5M14.5 4.5v11",
  compare: "M3.5 4.5h5v11h-5zM11.5 4.5h5v11h-5z",
  down: "m5 7.5 5 5 5-5",
  up: "m5 12.5 5-5 5 5",
  warning: "M10 3.5 17.5 16h-15L10 3.5ZM10 8.5v3.5M10 14.2v.1",
  info: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 9.5V13M10 6.8v.1",
  send: "M10 16V4M5 9l5-5 5 5",
  attach: "m15.5 9.5-5.8 5.8a3.5 3.5 0 0 1-5-5l6.5-6.4a2.3 2.3 0 0 1 3.3 3.3L8 13.6a1.2 1.2 0 0 1-1.7-1.7l5.4-5.3",
  sun: "M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM10 2v2M10 16v2M2 10h2M16 10h2M4.3 4.3l1.4 1.4M14.3 14.3l1.4 1.4M4.3 15.7l1.4-1.4M14.3 5.7l1.4-1.4",
  moon: "M16 12A6.5 6.5 0 0 1 8 4a6.5 6.5 0 1 0 8 8Z",
  system: "M3 4.5h14v9H3zM8 16.5h4M10 13.5v3",
  tool: "M12.5 7.5 16.8 3.2M11 4a4 4 0 0 1 5 5l-2.2-.6L12 6.6 11 4ZM11.3 8.7l-7 7a1.4 1.4 0 0 1-2-2l7-7",
  thought: "M7 14.5h6M8 17h4M10 3a5 5 0 0 1 3 9c-.6.5-.8 1-.8 1.8H7.8c0-.8-.2-1.3-.8-1.8a5 5 0 0 1 3-9Z",
  user: "M10 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 16.5c.8-3 3-4.5 6-4.5s5.2 1.5 6 4.5",
  agent: "M5 7h10v8H5zM10 7V4M10 4h.1M7.8 10.5v1M12.2 10.5v1M2.8 10v2.5M17.2 10v2.5",
  state: "M7.5 3.5C5 3.5 6.5 9 4 10c2.5 1 1 6.5 3.5 6.5M12.5 3.5c2.5 0 1 5.5 3.5 6.5-2.5 1-1 6.5-3.5 6.5",
  link: "M11.5 4H16v4.5M16 4l-7 7M8 5H4.5v10.5H15V12",
  key: "M12.5 11a4 4 0 1 0-3.6-2.3L3 14.6V17h3v-2h2v-2l1.6-1.6A4 4 0 0 0 12.5 11ZM13 7.2v.1",
} as const;

/** The name of a sign. */
export type IconName = keyof typeof PATHS;

/** A sign. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }): ReactElement {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
