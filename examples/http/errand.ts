// Sends a command out, survives a restart of the daemon, takes the debrief, acknowledges it. No packages.
//
//   HOMING_URL=http://127.0.0.1:7117 HOMING_TOKEN=$(homing token) node errand.ts
import { execFileSync } from "node:child_process";

type Debrief = { key: string; text: string; notices: [task: string, generation: number][] };

const { HOMING_URL: url, HOMING_TOKEN: token } = process.env;
const consumer = "errands-ts";

async function call(path: string, body?: unknown): Promise<Response> {
  const answer = await fetch(url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

/** Debriefs as they come; one that is not acknowledged comes again. */
async function* debriefs(): AsyncGenerator<Debrief> {
  const stream = await call(`/v1/deliveries?consumer=${consumer}`);
  let held = "";
  for await (const part of stream.body!.pipeThrough(new TextDecoderStream())) {
    const events = (held + part).split("\n\n");
    held = events.pop()!;
    for (const event of events) {
      const fields = Object.fromEntries(event.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.event === "debrief") yield JSON.parse(fields.data);
    }
  }
}

// The key makes it safe to say again: the same key is the same task.
const launch = {
  command: ["sh", "-c", "sleep 1; echo done by typescript"],
  parent: `inbox:${consumer}`,
  key: "typescript-errand",
};
const { id } = (await (await call("/v1/tasks", launch)).json()) as { id: string };
console.log("launched", id);

// The daemon goes and comes back; the command runs on, and nothing is lost.
execFileSync("homing", ["daemon", "stop"]);
execFileSync("homing", ["daemon", "start"]);
const again = (await (await call("/v1/tasks", launch)).json()) as { id: string };
if (again.id !== id) throw new Error("two tasks of one key");

for await (const debrief of debriefs()) {
  console.log(debrief.text);
  await call(`/v1/deliveries/${debrief.key}/ack`, {});
  if (debrief.notices.some(([task]) => task === id)) break;
}
console.log("acknowledged", id);
process.exit(0);
