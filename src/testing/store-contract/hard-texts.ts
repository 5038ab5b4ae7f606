/**
 * Texts that break stores: escapes that a parser would undo, characters of all planes, whatever SQL, LIKE, collations and
 * paths give a meaning to. Ids that look alike are different ids.
 */

/** Lots of text that hardly compresses, the same each time. */
export function noise(length: number): string {
  let state = 1;
  let text = "";
  while (text.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state.toString(36);
  }
  return text.slice(0, length);
}

/** Events as JSON texts that have to come back as the same text. */
export const HARD_EVENTS = [
  String.raw`{"type":"CUSTOM","name":"nul","value":"\u0000 a\u0000b"}`,
  String.raw`{"type":"CUSTOM","name":"lone surrogates, escaped","value":"\ud800 \udfff \udc00\ud800"}`,
  String.raw`{"type":"CUSTOM","name":"escapes that need not be","value":"\u0041\/\ud83e\uddf5\t\r\n\b\f\\\""}`,
  `{"type":"CUSTOM","name":"all planes","value":"\u00e9 e\u0301 \u4e2d \ufffd \ufeff \u2028 \u2029 \u{1f9f5} \u{20000} \u{e0041} \u{10ffff}"}`,
  `{"type":"CUSTOM","name":"controls","value":"\u007f \u0080 \u009f \u200d \u202e"}`,
  `{"type":"CUSTOM","name":"numbers","value":[1.0,1e2,-0,0.1,12345678901234567890,1E400,5e-324]}`,
  `{ "value" : { "b":1, "a":2, "a":3, "10":1, "9":2, "__proto__":{"x":1} } , "type":"CUSTOM" , "name":"spaces and order" }`,
  `{"type":"CUSTOM","name":"quotes","value":"'; DROP TABLE events; -- $1 $$ ? :a @b {0} %s \\\\ \`"}`,
  `{"type":"CUSTOM","name":"","value":null}`,
  `{"type":"CUSTOM","name":"deep","value":${"[".repeat(500)}${"]".repeat(500)}}`,
  `{"type":"CUSTOM","name":"long and dull","value":"${"x".repeat(70_000)}"}`,
] as const;

/** Ids that have to be kept apart and to come back as they are. */
export const HARD_IDS = [
  "a",
  "A",
  "a ",
  " a",
  "\u00e9",
  "e\u0301",
  "it's",
  'say "hi"',
  "`tick`",
  "back\\slash",
  "a/b",
  "../../etc/passwd",
  "a\nb",
  "a\tb",
  "a%b",
  "a_b",
  "%",
  "_",
  "'; DROP TABLE threads; --",
  "$1",
  "?",
  ":a",
  "null",
  "undefined",
  "0",
  "00",
  "__proto__",
  "constructor",
  "\u{1f9f5}",
  "\u{1f9f6}",
  "\ue000",
  "\u00df",
  "ss",
  "\u0130",
  "i",
  "x".repeat(256),
  `${"x".repeat(255)}y`,
  noise(256),
  "\u{1f9f5}".repeat(128),
] as const;

/** Metadata that has to come back as it is. */
export const HARD_METADATA: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { "": "", " ": [], a: {}, b: [[], {}], "it's": 'say "hi"', "a.b": null, "$.a": false, 10: 1, 9: 2 },
  { text: "\u0000 \ud800 \u{1f9f5} \u2028 \n \\ %_" },
  { numbers: [0, -1, 1.5, 1e21, 5e-324, Number.MAX_SAFE_INTEGER] },
  {
    deep: Array.from({ length: 200 }).reduce<unknown>((inner, _, index) => ({ [`level ${index}`]: [inner] }), "bottom"),
  },
  { large: noise(100_000) },
];
