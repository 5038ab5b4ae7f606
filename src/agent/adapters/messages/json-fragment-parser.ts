/**
 * Reads JSON as it arrives, cut anywhere, and says what each piece means: which value began, grew or is complete.
 *
 * For user interfaces that show arguments while the model still writes them. Text that is not JSON is not an error
 * here: the parser falls silent, since AG-UI never judges argument text.
 */

/** What can be said of a piece of JSON. */
export const JSON_FRAGMENT_KINDS = [
  "object-start",
  "object-end",
  "array-start",
  "array-end",
  "key",
  "string-start",
  "string-part",
  "string-end",
  "number",
  "boolean",
  "null",
] as const;

/** What a fragment says. */
export type JsonFragmentKind = (typeof JSON_FRAGMENT_KINDS)[number];

/** One thing that a piece of JSON says. */
export interface JsonFragment {
  /** What it says. */
  readonly kind: JsonFragmentKind;
  /** JSON Pointer of the value that it is about; for a key, of the value that follows. */
  readonly path: string;
  /** The key, the next part of a string, the whole string at its end, or the number or boolean. */
  readonly value?: string | number | boolean;
}

interface Container {
  readonly path: string;
  readonly isObject: boolean;
  /** Position of the next element, in an array. */
  index: number;
  /** Key of the next value, in an object; undefined while the key itself is awaited. */
  key: string | undefined;
}

interface OpenString {
  readonly isKey: boolean;
  readonly path: string;
  whole: string;
  part: string;
  /** An escape that is cut in the middle, from its backslash on. */
  escape: string;
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Reads one JSON value. */
export class JsonFragmentParser {
  readonly #containers: Container[] = [];
  #fragments: JsonFragment[] = [];
  #string: OpenString | undefined;
  #literal = "";
  #isBroken = false;

  /** What the next piece of text says. */
  push(text: string): readonly JsonFragment[] {
    this.#fragments = [];
    for (const char of text) {
      if (this.#isBroken) break;
      if (this.#string === undefined) this.#readStructure(char);
      else this.#readString(this.#string, char);
    }
    this.#flushPart();
    return this.#fragments;
  }

  #readStructure(char: string): void {
    if (/[-+.\w]/.test(char)) {
      this.#literal += char;
      return;
    }
    this.#endLiteral();
    switch (char) {
      case "{":
      case "[":
        return this.#open(char === "{");
      case "}":
      case "]":
        return this.#close(char === "}");
      case '"':
        return this.#openString();
      case ",":
      case ":":
      case " ":
      case "\t":
      case "\n":
      case "\r":
        return;
      default:
        this.#isBroken = true;
    }
  }

  #open(isObject: boolean): void {
    const path = this.#place();
    if (path === undefined) return;
    this.#say({ kind: isObject ? "object-start" : "array-start", path });
    this.#containers.push({ path, isObject, index: 0, key: undefined });
  }

  #close(isObject: boolean): void {
    const container = this.#containers.pop();
    if (container?.isObject !== isObject) this.#isBroken = true;
    else this.#say({ kind: isObject ? "object-end" : "array-end", path: container.path });
  }

  #openString(): void {
    const container = this.#containers.at(-1);
    const isKey = container?.isObject === true && container.key === undefined;
    const path = isKey ? container.path : this.#place();
    if (path === undefined) return;
    this.#string = { isKey, path, whole: "", part: "", escape: "" };
    if (!isKey) this.#say({ kind: "string-start", path });
  }

  #readString(string: OpenString, char: string): void {
    if (string.escape !== "") return this.#readEscape(string, string.escape + char);
    if (char === "\\") string.escape = char;
    else if (char === '"') this.#closeString(string);
    else string.part += char;
  }

  #readEscape(string: OpenString, escape: string): void {
    const isUnicode = escape.startsWith("\\u");
    string.escape = isUnicode && escape.length < 6 ? escape : "";
    if (string.escape !== "") return;
    string.part += isUnicode
      ? String.fromCharCode(Number.parseInt(escape.slice(2), 16))
      : (ESCAPES[escape.slice(1)] ?? escape.slice(1));
  }

  #closeString(string: OpenString): void {
    const container = this.#containers.at(-1);
    if (string.isKey && container !== undefined) {
      container.key = string.part;
      this.#say({ kind: "key", path: `${string.path}/${escapeToken(string.part)}`, value: string.part });
    } else {
      this.#flushPart();
      this.#say({ kind: "string-end", path: string.path, value: string.whole });
    }
    this.#string = undefined;
  }

  /** Says as much of an open string as is whole. */
  #flushPart(): void {
    const string = this.#string;
    if (string === undefined || string.isKey || string.part === "") return;
    this.#say({ kind: "string-part", path: string.path, value: string.part });
    string.whole += string.part;
    string.part = "";
  }

  #endLiteral(): void {
    const text = this.#literal;
    if (text === "") return;
    this.#literal = "";
    const path = this.#place();
    if (path === undefined) return;
    if (text === "null") this.#say({ kind: "null", path });
    else if (text === "true" || text === "false") this.#say({ kind: "boolean", path, value: text === "true" });
    else if (/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text)) this.#say({ kind: "number", path, value: Number(text) });
    else this.#isBroken = true;
  }

  /** Where the next value stands. Undefined, and broken, where none may. */
  #place(): string | undefined {
    const container = this.#containers.at(-1);
    if (container === undefined) return "";
    if (!container.isObject) return `${container.path}/${container.index++}`;
    const { key } = container;
    if (key === undefined) this.#isBroken = true;
    else container.key = undefined;
    return key === undefined ? undefined : `${container.path}/${escapeToken(key)}`;
  }

  #say(fragment: JsonFragment): void {
    this.#fragments.push(fragment);
  }
}

const escapeToken = (token: string): string => token.replaceAll("~", "~0").replaceAll("/", "~1");
