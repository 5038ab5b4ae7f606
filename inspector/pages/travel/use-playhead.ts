/**
 * Where in a branch one looks, and how that moves: by hand, or played. The place is kept in the address when it rests; at the
 * end of the branch nothing is kept, and what is new is followed.
 */
import { useCallback, useEffect, useRef, useState } from "react";
import { useQueryValue } from "../../route.ts";
import type { BranchFold } from "./branch-fold.ts";
import { nextStop, playedTo } from "./steps.ts";
import type { Speed, Stop } from "./steps.ts";

/** Where one looks. */
export interface Playhead {
  /** Place of the event in the branch; -1 in a branch without events. */
  readonly place: number;
  /** Goes to a place. */
  readonly go: (place: number) => void;
  /** Where a step would lead; undefined where there is none. */
  readonly next: (stop: Stop, direction: 1 | -1) => number | undefined;
  /** Whether it is played. */
  readonly isPlaying: boolean;
  /** Plays, from the beginning where it stands at the end, or stops. */
  readonly toggle: () => void;
  /** How fast. */
  readonly speed: Speed;
  /** Chooses how fast. */
  readonly setSpeed: (speed: Speed) => void;
}

/** Browsers allow only so many changes of the address in a time. */
const REST_MS = 250;

/** The place in a branch of which so many events are known. */
export function usePlayhead(fold: BranchFold, count: number): Playhead {
  const [seq, setSeq] = useKeptSeq();
  const place = seq === undefined ? count - 1 : Math.min(Math.max(fold.placeOf(seq), 0), count - 1);
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>("1");
  const current = useRef(place);
  current.current = place;
  const move = useCallback(
    (to: number) => {
      const { entries } = fold;
      setSeq(to >= entries.length - 1 ? undefined : entries[Math.max(to, 0)]?.seq);
    },
    [fold, setSeq],
  );
  const go = useCallback(
    (to: number) => {
      setPlaying(false);
      move(to);
    },
    [move],
  );
  useEffect(() => {
    if (!isPlaying) return undefined;
    let last = performance.now();
    let rest = 0;
    let frame = requestAnimationFrame(function tick(now) {
      const played = playedTo(fold.entries, current.current, rest + now - last, speed);
      last = now;
      rest = played.restMs;
      if (played.place !== current.current) move(played.place);
      if (played.place >= fold.entries.length - 1) setPlaying(false);
      else frame = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, speed, fold, move]);
  const toggle = useCallback(() => {
    if (!isPlaying && current.current >= fold.entries.length - 1) move(0);
    setPlaying(!isPlaying);
  }, [isPlaying, fold, move]);
  const next = useCallback(
    (stop: Stop, direction: 1 | -1) => nextStop(fold.entries, current.current, stop, direction),
    [fold],
  );
  return { place, go, next, isPlaying, toggle, speed, setSpeed };
}

/** The seq that is looked at: changed at once, kept in the address when it rests. */
function useKeptSeq(): readonly [number | undefined, (seq: number | undefined) => void] {
  const [at, setAt] = useQueryValue("at");
  const [seq, setSeq] = useState(() => seqIn(at));
  const written = useRef(at);
  useEffect(() => {
    if (at === written.current) return;
    written.current = at;
    setSeq(seqIn(at));
  }, [at]);
  useEffect(() => {
    const text = seq === undefined ? "" : String(seq);
    if (text === written.current) return undefined;
    const timer = setTimeout(() => {
      written.current = text;
      setAt(text);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [seq, setAt]);
  return [seq, setSeq];
}

/** A place in the log, out of the address. */
export const seqIn = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);
