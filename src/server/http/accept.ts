/**
 * What a reader accepts: the form on offer that `Accept` names with the highest quality. A wildcard names nothing, so it
 * gets the first form, as does a reader that says nothing or asks for what there is not.
 */

/** Chooses one of the media types on offer, the first where none is named. */
export function accepted<const M extends string>(accept: string | undefined, offered: readonly [M, ...M[]]): M {
  let best: M = offered[0];
  let quality = 0;
  for (const range of (accept ?? "").split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const named = offered.find((mediaType) => mediaType === type);
    if (named === undefined) continue;
    const asked = qualityOf(parameters);
    // Of equals the one that is offered first.
    if (asked > quality || (asked === quality && offered.indexOf(named) < offered.indexOf(best))) {
      best = named;
      quality = asked;
    }
  }
  return best;
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith("q="));
  if (given === undefined) return 1;
  const quality = Number(given.slice(2));
  return quality > 0 && quality <= 1 ? quality : 0;
}
