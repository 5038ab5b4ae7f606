/** Buttons that go through the events of a branch, and play them. */
import type { ReactElement } from "react";
import { IconButton } from "../../ui/button.tsx";
import { formatCount } from "../../ui/format.ts";
import type { Speed, Stop } from "./steps.ts";
import type { Playhead } from "./use-playhead.ts";
import "./transport-bar.css";

const SPEED_NAMES: Readonly<Record<Speed, string>> = { "1": "1×", "4": "4×", "16": "16×", real: "Real time" };
const isSpeed = (name: string): name is Speed => Object.hasOwn(SPEED_NAMES, name);

/** The buttons. */
export function TransportBar({
  playhead,
  count,
}: {
  readonly playhead: Playhead;
  readonly count: number;
}): ReactElement {
  const { place, go, isPlaying, toggle, speed, setSpeed } = playhead;
  // At the ends the buttons lead nowhere, and keep the focus of whoever got there by them.
  return (
    <div className="travel-transport" role="toolbar" aria-label="Go through the events">
      <div className="travel-group">
        <IconButton icon="first" label="First event" aria-disabled={place <= 0} onClick={() => go(0)} />
        <IconButton icon="back" label="Previous event" aria-disabled={place <= 0} onClick={() => go(place - 1)} />
        <IconButton
          icon={isPlaying ? "pause" : "play"}
          label={isPlaying ? "Pause" : "Play"}
          className="travel-play"
          onClick={toggle}
        />
        <IconButton
          icon="forward"
          label="Next event"
          aria-disabled={place >= count - 1}
          onClick={() => go(place + 1)}
        />
        <IconButton icon="last" label="Last event" aria-disabled={place >= count - 1} onClick={() => go(count - 1)} />
      </div>
      <p className="travel-position">
        Event <strong>{formatCount(place + 1)}</strong> of {formatCount(count)}
      </p>
      <Steps name="Message" stop="message" what="message" playhead={playhead} />
      <Steps name="State" stop="state" what="state change" playhead={playhead} />
      <Steps name="Run" stop="run" what="run" playhead={playhead} />
      <label className="travel-speed">
        <span aria-hidden="true">Speed</span>
        <select
          className="field"
          aria-label="Speed"
          value={speed}
          title="Real time skips pauses of more than 2 seconds."
          onChange={({ currentTarget: { value } }) => isSpeed(value) && setSpeed(value)}
        >
          {Object.entries(SPEED_NAMES).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Steps({
  name,
  stop,
  what,
  playhead,
}: {
  readonly name: string;
  readonly stop: Stop;
  readonly what: string;
  readonly playhead: Playhead;
}): ReactElement {
  const step = (direction: 1 | -1): void => {
    const to = playhead.next(stop, direction);
    if (to !== undefined) playhead.go(to);
  };
  return (
    <div className="travel-group" role="group" aria-label={name}>
      <IconButton icon="back" label={`Previous ${what}`} onClick={() => step(-1)} />
      <span aria-hidden="true">{name}</span>
      <IconButton icon="forward" label={`Next ${what}`} onClick={() => step(1)} />
    </div>
  );
}
