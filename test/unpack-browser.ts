/** Runs once before all tests: the browser is unpacked here, so that test files side by side do not do it over each other. */
import sparticuz from "@sparticuz/chromium";

/** Unpacks the browser, unless that was done. */
export const setup = async (): Promise<void> => void (await sparticuz.executablePath());
