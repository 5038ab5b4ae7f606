/**
 * Takes secrets out of what a provider says: its messages quote keys, and errors travel to every viewer of a run.
 *
 * What is known to be secret goes first, then whatever looks like a key. Losing a long id is cheaper than showing one.
 */

const PLACEHOLDER = "[redacted]";

/** The forms that secrets have: a word before the secret is kept, the secret is not. */
const PATTERNS: readonly RegExp[] = [
  // https://user:password@host
  /(?<=:\/\/)[^\s/@]+(?=@)/g,
  // Bearer abc, Basic abc
  /(?<=\b(?:bearer|basic)\s+)[^\s"',;]+/gi,
  // api_key=abc, "token": "abc", x-api-key: abc
  /(?<=\b[\w-]*(?:api[-_]?key|token|secret|password|authorization)["']?\s*[=:]\s*["']?)[^\s"',;&]+/gi,
  // sk-abc, sk-proj-abc***xyz, gsk_abc, AIzaSy…
  /\b(?:sk|pk|rk|gsk|xai|key|hf|nvapi|pplx|csk|tgp|r8|AIza)[-_]?[A-Za-z0-9_*-]{8,}/g,
  // Anything long that mixes letters and digits
  /\b(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9_-]{32,}\b/g,
];

/** The text without the given secrets, and without what looks like one. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, PLACEHOLDER);
  for (const pattern of PATTERNS) clean = clean.replaceAll(pattern, PLACEHOLDER);
  return clean;
}
