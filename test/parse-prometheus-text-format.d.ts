/** What tests use of the parser, which comes without types: metrics with their series. */
declare module "parse-prometheus-text-format" {
  const parse: (text: string) => readonly {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly metrics: readonly { readonly value?: string; readonly labels?: Readonly<Record<string, string>> }[];
  }[];
  export = parse;
}
