/** Streams send bytes as pieces of base64, each padded for itself: joined as text they would be no base64. */
import { HeddleError } from "../../../protocol/index.ts";

/** One base64 text of the bytes of several. */
export function joinBase64(pieces: readonly string[]): string {
  try {
    return pieces.length === 1 ? (pieces[0] ?? "") : btoa(pieces.map((piece) => atob(piece)).join(""));
  } catch {
    throw new HeddleError("model-stream-invalid", "The model's provider sent a sound that is not base64.", {});
  }
}
