// A hand at a page: it does what a person does, and counts it.

export class Hand {
  constructor(page) {
    this.page = page;
    this.clicks = 0;
    this.entries = 0;
    this.keys = 0;
    this.begun = performance.now();
  }

  /** What was done since the hand was made. */
  count() {
    return { clicks: this.clicks, entries: this.entries, keys: this.keys, seconds: (performance.now() - this.begun) / 1_000 };
  }

  async click(target, options) {
    this.clicks += 1;
    await this.#of(target).click(options);
  }

  /** A double click counts twice. */
  async doubleClick(target) {
    this.clicks += 2;
    await this.#of(target).dblclick();
  }

  /** Types or pastes a text, which counts as one entry, into the field that has the focus, or else clicks on it first. A text that is there is replaced. */
  async type(target, text) {
    const field = this.#of(target);
    await field.waitFor();
    if (!(await field.evaluate((element) => element === document.activeElement || element.contains(document.activeElement)))) await this.click(target);
    this.entries += 1;
    await field.fill(text);
  }

  /** Types into what has the focus. */
  async write(text) {
    this.entries += 1;
    // The first key may open an editor.
    await this.page.keyboard.type(text.slice(0, 1));
    await this.page.keyboard.insertText(text.slice(1));
  }

  /** Pastes into what has the focus. */
  async paste(text) {
    this.entries += 1;
    await this.page.keyboard.insertText(text);
  }

  /** A key, with those that are held down: one press. */
  async press(key) {
    this.keys += 1;
    await this.page.keyboard.press(key);
  }

  /** Chooses in a list of the browser: a click opens it, another chooses. */
  async choose(target, value) {
    this.clicks += 2;
    await this.#of(target).selectOption(value);
  }

  /** Drags a file to an element. */
  async drop(target, { name, type, text }) {
    this.clicks += 1;
    const data = await this.page.evaluateHandle(([name, type, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([text], name, { type }));
      return data;
    }, [name, type, text]);
    const element = this.#of(target);
    for (const event of ["dragenter", "dragover", "drop"]) await element.dispatchEvent(event, { dataTransfer: data });
  }

  /** Clicks on what opens the browser's window of files, and chooses one there: three clicks. */
  async upload(target, file) {
    const [chooser] = await Promise.all([this.page.waitForEvent("filechooser"), this.click(target)]);
    this.clicks += 2;
    await chooser.setFiles(file);
  }

  /** Clicks on what downloads a file, and returns the file's path. */
  async download(target) {
    const [file] = await Promise.all([this.page.waitForEvent("download"), this.click(target)]);
    return file.path();
  }

  /** Opens an address that the person types, which counts as one entry and a key. */
  async visit(url) {
    this.entries += 1;
    this.keys += 1;
    await this.page.goto(url);
  }

  async see(target, options) {
    await this.#of(target).waitFor(options);
  }

  #of(target) {
    return typeof target === "string" ? this.page.locator(target).first() : target;
  }
}
