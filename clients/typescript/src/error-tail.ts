// The end of the standard error of a child process, and how it ended.

/** The number of stored bytes, and of the lines and characters that an error shows. */
const [kept, shownLines, shownCharacters] = [4096, 8, 800];

export class ErrorTail {
  #said = Buffer.alloc(0);
  #cut = false;
  constructor(readonly program: string) {}

  /** Adds more output. */
  add(piece: Buffer): void {
    const all = Buffer.concat([this.#said, piece]);
    this.#cut ||= all.length > kept;
    this.#said = Buffer.from(all.subarray(-kept));
  }

  /** How the program ended, and the end of its output. */
  tell(status: number | null, signal: NodeJS.Signals | null): string {
    const how = signal === null ? `exit status ${status}` : `signal ${signal}`;
    const end = status === null && signal === null ? "closed its output" : `ended (${how})`;
    const said = this.#lines();
    return `${this.program} ${end}${said && `, and said: ${said}`}`;
  }

  #lines(): string {
    const lines = this.#said.toString().split(/\r?\n/);
    // The first line is incomplete.
    if (this.#cut && lines.length > 1) lines.shift();
    const shown = lines.map((line) => line.replace(/[\p{C}\p{Z}]+/gu, " ").trim()).filter((line) => line !== "");
    const text = shown.slice(-shownLines).join(" | ");
    return text.length > shownCharacters ? `…${text.slice(-shownCharacters)}` : text;
  }
}
