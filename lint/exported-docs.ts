/**
 * A lint rule of our own: whatever a file exports has a doc comment, and so has every member of an exported interface,
 * type literal or class. A reader of the public names should never have to read the code.
 */

interface Node {
  readonly type: string;
  readonly range: readonly [number, number];
  readonly declaration?: Node | null;
  readonly body?: { readonly body?: readonly Member[] };
  readonly typeAnnotation?: { readonly type: string; readonly members?: readonly Member[] };
  readonly source?: unknown;
}

interface Member extends Node {
  readonly accessibility?: string;
  readonly kind?: string;
  readonly key?: { readonly type: string; readonly name?: string };
  readonly override?: boolean;
}

interface Context {
  readonly sourceCode: { readonly text: string };
  readonly report: (finding: { readonly node: Node; readonly message: string }) => void;
}

const MESSAGE = "Give this a doc comment of one line: what it promises to whoever uses it.";

const exportedDocs = {
  create(context: Context): Record<string, (node: Node) => void> {
    const check = (node: Node): void => {
      if (!hasDoc(context.sourceCode.text, node.range[0])) context.report({ node, message: MESSAGE });
    };
    return {
      ExportNamedDeclaration(node) {
        const declaration = node.declaration;
        if (declaration === undefined || declaration === null) return;
        check(node);
        publicMembers(declaration).forEach(check);
      },
    };
  },
};

/** Whether a doc comment ends right before a position, lint directives aside. */
function hasDoc(text: string, position: number): boolean {
  const before = text.slice(0, position).replace(/(\s|\/\/ oxlint-disable[^\n]*\n)*$/, "");
  return before.endsWith("*/") && before.lastIndexOf("/**") > before.lastIndexOf("*/", before.length - 3);
}

function publicMembers(declaration: Node): readonly Member[] {
  switch (declaration.type) {
    case "TSInterfaceDeclaration":
      return declaration.body?.body ?? [];
    case "TSTypeAliasDeclaration":
      return declaration.typeAnnotation?.type === "TSTypeLiteral" ? (declaration.typeAnnotation.members ?? []) : [];
    case "ClassDeclaration":
      return (declaration.body?.body ?? []).filter(
        ({ accessibility, kind, key, override }) =>
          accessibility !== "private" &&
          kind !== "constructor" &&
          key?.type !== "PrivateIdentifier" &&
          override !== true,
      );
    default:
      return [];
  }
}

export default { meta: { name: "heddle" }, rules: { "exported-docs": exportedDocs } };
