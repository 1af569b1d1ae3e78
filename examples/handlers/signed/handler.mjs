// Takes a request only if the signature of Hapax is right, by two libraries that know nothing of Hapax.
import { createServer } from "node:http";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

const secret = process.env.SIGNING_SECRET;
const libraries = [new Svix(secret), new Standard(secret)];

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  try {
    for (const library of libraries) library.verify(body, request.headers);
    response.writeHead(204).end();
  } catch (error) {
    console.log(String(error), request.headers);
    response.writeHead(401, { "hapax-retry": "no" }).end();
  }
}).listen(Number(process.env.PORT), "127.0.0.1");
