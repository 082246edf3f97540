// Lets the search work on pages that are opened from the disk. Browsers start no worker there, so the worker's script
// runs in a hidden frame of the page instead. Nothing is fetched from any host.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentDocument;
      inside.open(); // also keeps the browser from loading an empty page into the frame later
      inside.write("<!DOCTYPE html><title>Search</title><body>");
      inside.close();
      this.frame.contentWindow.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.createElement("script");
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.send(data));
      };
      script.src = new URL(url, location).href;
      inside.body.append(script);
    }

    send(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.send(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
