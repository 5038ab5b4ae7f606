#!/usr/bin/env node
/**
 * The `heddle` command. Looks at Node's version before anything else is loaded, because the rest does not even parse
 * on an old one: no static imports and no modern syntax here.
 */

// Oldest Node that works, as in `engines` of package.json.
var OLDEST_MAJOR = 22;
var OLDEST_MINOR = 18;

var parts = /^v(\d+)\.(\d+)/.exec(process.version);
var major = parts === null ? 0 : Number(parts[1]);
var minor = parts === null ? 0 : Number(parts[2]);

if (major < OLDEST_MAJOR || (major === OLDEST_MAJOR && minor < OLDEST_MINOR)) {
  var needed = "Heddle needs Node " + OLDEST_MAJOR + "." + OLDEST_MINOR + " or newer, and this is " + process.version;
  console.error(needed + ": install a current Node from https://nodejs.org and run the command again.");
  process.exitCode = 1;
} else {
  import("./main.ts")
    .then(function (cli) {
      return cli.main(process.argv.slice(2), process.env);
    })
    .then(function (exitCode) {
      process.exitCode = exitCode;
      return exitCode;
    });
}
