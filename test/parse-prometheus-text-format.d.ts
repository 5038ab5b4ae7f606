/** What tests use of the parser, which comes without types. */
declare module "parse-prometheus-text-format" {
  /** One metric with its series. */
  export interface Family {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly metrics: readonly { readonly value?: string; readonly labels?: Readonly<Record<string, string>> }[];
  }
  const parse: (text: string) => readonly Family[];
  export = parse;
}
