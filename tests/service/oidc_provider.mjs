// A real OpenID Connect provider for tests: who types a name is that name.
// Arguments: the package's entry, the port, the client's redirect address, the client's secret.
const [entry, port, redirect, secret] = process.argv.slice(2);
const { default: Provider } = await import(entry);

const emails = { "bob-1": "Bob@example.org", "bob-2": "bob@example.org", mallory: "ann@example.org" };
const provider = new Provider(`http://localhost:${port}`, {
  clients: [
    {
      client_id: "quaestor",
      client_secret: secret,
      redirect_uris: [redirect],
      response_types: ["code"],
      grant_types: ["authorization_code"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  cookies: { keys: ["only for tests"] },
  pkce: { required: () => true },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: emails[id], email_verified: id !== "mallory" }),
  }),
});
provider.listen(Number(port), "localhost", () => console.log("listening"));
