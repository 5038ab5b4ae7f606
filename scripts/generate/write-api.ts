/**
 * The API reference, from the doc comments: one page for each subpath, one entry for each name that it exports.
 *
 * The linter asks for a doc comment on everything that is exported and on every member, and the compiler writes declarations
 * in one form, so reading their text is enough. They have to be built before.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A page. */
interface Page {
  readonly path: string;
  readonly text: string;
}

interface Declaration {
  readonly name: string;
  readonly kind: string;
  readonly doc: string;
  readonly signature: string;
  readonly members: readonly Member[];
}

interface Member {
  readonly signature: string;
  readonly doc: string;
}

const KINDS = ["function", "class", "const", "interface", "type"] as const;
const HEADINGS: Readonly<Record<string, string>> = {
  function: "Functions",
  class: "Classes",
  const: "Constants",
  interface: "Interfaces",
  type: "Types",
};

/** The pages, and the list of them. */
export function writeApi(): readonly Page[] {
  const { exports }: { readonly exports: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync("package.json", "utf8"),
  );
  const subpaths = Object.entries(exports).flatMap(([subpath, built]) =>
    // The root passes on what has pages of its own.
    built.endsWith(".js") && subpath !== "." ? [{ subpath, source: built.replace(/\.js$/, ".d.ts") }] : [],
  );
  const pages = subpaths.map(({ subpath, source }) => pageOf(subpath, source));
  const rows = pages.map(({ name, file, summary, count }) => `| [\`${name}\`](${file}) | ${count} | ${summary} |`);
  const list = `# API reference\n\nWritten from the doc comments by \`npm run generate\`. \`heddle\` itself is \`heddle/protocol\`, its dialects and \`heddle/stream\` in one import.\n\n| subpath | names | what it is |\n| --- | --- | --- |\n${rows.join("\n")}\n`;
  return [
    { path: "docs/api/index.md", text: list },
    ...pages.map(({ file, text }) => ({ path: `docs/api/${file}`, text })),
  ];
}

function pageOf(subpath: string, source: string) {
  const name = `heddle${subpath.slice(1)}`;
  const file = `${name.replaceAll("/", "-")}.md`;
  const declarations = declarationsOf(source);
  const summary = inOneLine(headerOf(readFileSync(sourceOf(source), "utf8"))).replace(/^`[^`]+`: /, "");
  const sections = KINDS.flatMap((kind) => {
    const own = declarations.filter((each) => each.kind === kind);
    return own.length === 0 ? [] : [`## ${HEADINGS[kind]}`, ...own.map(entryOf)];
  });
  const text = [`# \`${name}\``, summary, ...sections].join("\n\n");
  return { name, file, summary, count: declarations.length, text: `${text}\n` };
}

function entryOf({ name, doc, signature, members }: Declaration): string {
  const rows = members.map((member) => `| \`${member.signature.replaceAll("|", "\\|")}\` | ${cell(member.doc)} |`);
  const table = rows.length === 0 ? [] : [`| member | |\n| --- | --- |\n${rows.join("\n")}`];
  return [`### ${name}`, doc, `\`\`\`ts\n${signature}\n\`\`\``, ...table].join("\n\n");
}

const cell = (text: string): string => inOneLine(text).replaceAll("|", "\\|");
const inOneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ").trim();

/** What a declaration file was made of: the compiler leaves out what a file begins with where a directive follows. */
const sourceOf = (built: string): string => built.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts");

/** The comment that a file begins with: its first paragraph. */
const headerOf = (text: string): string =>
  docText(/^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? "").split("\n\n")[0] ?? "";

const docText = (comment: string): string =>
  comment
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim())
    .join("\n")
    .trim();

/** Everything that a file exports, its own and what it passes on, in order of names. */
function declarationsOf(source: string): readonly Declaration[] {
  const found = new Map<string, Declaration>();
  collect(source, undefined, found);
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function collect(source: string, only: ReadonlyMap<string, string> | undefined, found: Map<string, Declaration>): void {
  const text = readFileSync(source, "utf8");
  const folder = dirname(source);
  for (const [, from = ""] of text.matchAll(/^export (?:type )?\* from "(\.[^"]+)";/gm)) {
    collect(join(folder, from.replace(/\.tsx?$/, ".d.ts")), only, found);
  }
  for (const [, names = "", from = ""] of text.matchAll(/^export (?:type )?\{([^}]*)\} from "(\.[^"]+)";/gm)) {
    const wanted = new Map(
      names.split(",").flatMap((entry): [string, string][] => {
        const [name = "", alias = name] = entry
          .trim()
          .replace(/^type /, "")
          .split(" as ");
        return name === "" || (only !== undefined && !only.has(alias)) ? [] : [[name, only?.get(alias) ?? alias]];
      }),
    );
    if (wanted.size > 0) collect(join(folder, from.replace(/\.tsx?$/, ".d.ts")), wanted, found);
  }
  for (const match of text.matchAll(
    /(?:^\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^export (?:declare )?(?:async )?(function\*?|class|const|interface|type) (\w+)/gm,
  )) {
    const [, doc = "", keyword = "", own = ""] = match;
    const name = only === undefined ? own : only.get(own);
    if (name === undefined) continue;
    const kind = keyword.replace("*", "");
    const begin = match.index + match[0].lastIndexOf("export ");
    found.set(name, { name, kind, doc: docText(doc), ...declared(text.slice(begin), kind) });
  }
}

/** Signature and members of the declaration that a text begins with. */
function declared(text: string, kind: string): Pick<Declaration, "signature" | "members"> {
  const hasMembers = kind === "interface" || kind === "class";
  const end = endOfHead(text, hasMembers);
  const signature = text
    .slice(0, end)
    .replace(/^export (?:declare )?/, "")
    .trim();
  return {
    signature: shortened(signature),
    members: hasMembers ? membersOf(text.slice(end, text.indexOf("\n}", end))) : [],
  };
}

/** Where the head of a declaration ends: before its members, or with it. */
function endOfHead(text: string, hasMembers: boolean): number {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const char = text[index] ?? "";
    if (depth === 0 && (char === ";" || (char === "{" && hasMembers))) return index;
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
  }
  return text.length;
}

/** Members of an interface or a class: what stands behind a doc comment, one step in. */
function membersOf(body: string): readonly Member[] {
  const members = body.matchAll(
    /^ {4}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {4}(?! )([^\n]*(?:\n {5,}[^\n]*)*(?:\n {4}[)}][^\n]*)*)/gm,
  );
  return Array.from(members, ([, doc = "", code = ""]) => {
    const signature = shortened(inOneLine(code).replace(/;$/, ""));
    return { doc: docText(doc), signature };
  }).filter(({ signature }) => !/^(?:private|#|constructor)/.test(signature));
}

/** Most characters of a signature: a table of constants is read in the source. */
const MAX_SIGNATURE = 600;

const shortened = (signature: string): string =>
  signature.length > MAX_SIGNATURE ? `${signature.slice(0, MAX_SIGNATURE)} …` : signature;
