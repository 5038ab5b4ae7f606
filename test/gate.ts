/**
 * Gates for agents in other processes: an agent asks for `<url>/<name>` and gets its answer when the test opens that gate.
 * So a test knows how far an agent is, decides when it goes on, and counts how often it came by; nobody sleeps.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** The gates of one test. */
export interface Gates {
  /** Where agents ask; they get it as a forwarded property, say. */
  readonly url: string;
  /** Resolves when an agent has asked for the gate at least so often. */
  reached(name: string, times?: number): Promise<void>;
  /** How often agents have asked for the gate. */
  visits(name: string): number;
  /** Opens a gate: for those who wait, and for all who come. */
  open(name: string): void;
}

interface Place {
  isOpen: boolean;
  visits: number;
  readonly waiting: ServerResponse[];
  readonly watchers: (() => void)[];
}

/** Sets gates up until the test has finished; whoever still waits then is cut off. */
export async function startGates(): Promise<Gates> {
  const places = new Map<string, Place>();
  const placeOf = (name: string): Place => {
    const place = places.get(name) ?? { isOpen: false, visits: 0, waiting: [], watchers: [] };
    places.set(name, place);
    return place;
  };
  const server = createServer((request, response) => {
    const place = placeOf(decodeURIComponent(request.url?.slice(1) ?? ""));
    place.visits += 1;
    if (place.isOpen) response.end();
    else place.waiting.push(response);
    for (const watcher of place.watchers) watcher();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    reached: (name, times = 1) =>
      new Promise((resolve) => {
        const place = placeOf(name);
        const look = (): void => {
          if (place.visits >= times) resolve();
        };
        place.watchers.push(look);
        look();
      }),
    visits: (name) => placeOf(name).visits,
    open(name) {
      const place = placeOf(name);
      place.isOpen = true;
      for (const response of place.waiting.splice(0)) response.end();
    },
  };
}
