package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/internal/web"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	receipts "github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/serve"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "answer OpenAI's and Anthropic's API over HTTP", ArgsUsage: "MODEL",
		Description: `Answers /v1/completions, /v1/chat/completions, /v1/responses, /v1/messages and
/v1/embeddings with MODEL: a Hugging Face folder, a .gguf file, a run (see --checkpoint) or a
checkpoint folder. Also serves /v1/models, /tokenize, /detokenize, /v1/check, /health, /version
and /metrics. Ctrl-C ends it.

An answer is a function of the model, the request and its seed, whatever else the server does
at the time. Its completions are those of rlzero sample and of training. Log-probs are those
of the whole distribution at the temperature, as training computes them; at temperature 0, or
with "logprobs_at": 1, they are unscaled. Nothing in a request is ignored: an unsupported key
is refused, and the refusal names it. Penalties are not supported.

With response_format, an answer follows a JSON schema (type json_schema) or is an object
(json_object); its log-probs stay those of the model. Tools are called in the forms of Qwen
and Hermes, Llama 3, and Mistral, as the chat template has it. With tool_choice "required",
the arguments follow the schemas of the tools.

Nothing is stored: a conversation is sent whole each time, to /v1/responses too.
An embedding is the mean of the last layer, or its last token with "pooling":"last".

Limits of a request: 8 MiB, 1,024 completions, n of 128, 128 tools, a schema of 256 KiB.

The address is loopback. An address beyond it needs a token, which is read from --token-file,
or made and printed; /health alone is answered without it. Requests from web pages are refused unless --origin names the page.

Example: a server, and in another terminal a client.
   rlzero serve runs/first
   curl http://127.0.0.1:8080/v1/completions \
      -d '{"prompt":"20 13 7 4 > 10:","max_tokens":12,"temperature":0}'

Example: two adapters, as the models "math" and "code" beside their base model.
   rlzero serve models/qwen3 --adapter math=adapters/math \
      --adapter code=adapters/code

Other programs take the address http://127.0.0.1:8080/v1 and any API key, those of Anthropic's
API the address without /v1.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "`ADDRESS` to listen on: host:port, or unix:PATH", Value: "127.0.0.1:8080"},
			&cli.StringSliceFlag{Name: "host", Usage: "another `NAME` under which clients reach the server"},
			&cli.StringSliceFlag{Name: "origin", Usage: "answer web pages of this `URL`, such as https://app.example"},
			&cli.StringFlag{Name: "token-file", Usage: "require the token that is in `FILE`"},
			&cli.StringFlag{Name: "tls-cert", Usage: "serve HTTPS with the certificate in this PEM `FILE`"},
			&cli.StringFlag{Name: "tls-key", Usage: "PEM `FILE` with the key of the certificate"},
			&cli.StringFlag{Name: "name", Usage: "`NAME` of the model in requests", DefaultText: "that of its folder"},
			&cli.IntFlag{Name: "sequences", Value: 64, Usage: "number of completions to draw at once"},
			&cli.IntFlag{Name: "cache", Usage: "size of the key-value cache of each model, in `TOKENS`", DefaultText: "what fits half of the device's memory"},
			&cli.IntFlag{Name: "queue", Value: 256, Usage: "largest number of requests that wait or are being answered"},
			&cli.BoolFlag{Name: "lenient", Usage: "ignore unknown keys, and name them in the header X-Rlzero-Ignored"},
			&cli.StringSliceFlag{Name: adapterFlag.Name, Usage: "also serve MODEL with the LoRA adapter in a PEFT folder: `NAME=FOLDER`"},
			systemFlag, varFlag, checkpointFlag, dtypeFlag, kvDtypeFlag, deviceFlag, tierFlag,
		},
		Action: serveModel,
	}
}

// Bounds of --cache in tokens: a page for a prompt and one for its completion, and more than
// any device has room for.
const leastCache, mostCache = 64, 1 << 28

func serveModel(c *cli.Context) error {
	args, err := positional(c, "MODEL")
	if err != nil {
		return err
	}
	talk, err := chatOptions(c)
	if err != nil {
		return err
	}
	o := serve.Options{Name: c.String("name"), Lenient: c.Bool("lenient"), System: talk.System, Chat: talk.Options}
	if o.Engine.Sequences, err = intFrom(c, "sequences", 1, 4096); err != nil {
		return err
	}
	if o.Queue, err = intFrom(c, "queue", 1, 1<<16); err != nil {
		return err
	}
	if c.IsSet("cache") {
		if o.Engine.CacheToken, err = intFrom(c, "cache", leastCache, mostCache); err != nil {
			return err
		}
	}
	folder, note, err := servedFolder(c, args[0])
	if err != nil {
		return err
	}
	if o.Name == "" {
		o.Name = nameOf(args[0])
	} else if !servedName(o.Name) {
		return badValue("name", o.Name, "a name %s", servedNames)
	}
	api := web.API{Hosts: c.StringSlice("host"), Origins: c.StringSlice("origin"), Cert: c.String("tls-cert"), Key: secretFile(c, "tls-key"), Free: []string{serve.HealthPath}, Refuse: serve.Refuse}
	if api.Token, err = tokenOf(c); err != nil {
		return err
	}
	door, err := web.ListenAPI(c.String("listen"), api) // before the model is loaded, which takes longer
	if err != nil {
		return usage(err)
	}
	defer door.Close()
	m, done, err := openWith(c, folder, "", false)
	if err != nil {
		return err
	}
	defer done()
	if o.Weights, err = digestOf(folder, ""); err != nil {
		return err
	}
	closeAll, err := withAdapters(c, m, folder, &o)
	defer closeAll()
	if err != nil {
		return err
	}
	s, err := serve.New(m, o)
	if err != nil {
		return err
	}
	defer s.Close()
	announce(c, s, door, folder, o.Name, note)
	return answer(c, s, door)
}

// withAdapters opens the adapters that are served beside a model.
func withAdapters(c *cli.Context, m *model.Model, folder string, o *serve.Options) (closeAll func(), err error) {
	names := map[string]bool{o.Name: true}
	closeAll = func() {
		for _, a := range o.Adapters {
			a.Model.Close()
		}
	}
	for _, text := range c.StringSlice(adapterFlag.Name) {
		name, dir, ok := strings.Cut(text, "=")
		if !ok {
			return closeAll, hint.With(badValue(adapterFlag.Name, text, "NAME=FOLDER"), "--%s %s", adapterFlag.Name, terminal.ShellWord(nameOf(text)+"="+text))
		}
		if !servedName(name) || names[name] {
			return closeAll, badValue(adapterFlag.Name, text, "NAME=FOLDER with a name that no other model has, %s", servedNames)
		}
		names[name] = true
		a := serve.Adapter{Name: name}
		if a.Weights, err = digestOf(folder, dir); err == nil {
			a.Model, err = m.WithAdapter(dir)
		}
		if err != nil {
			return closeAll, fmt.Errorf("%w: --adapter %s: %w", lines.ErrInput, name, err)
		}
		o.Adapters = append(o.Adapters, a)
	}
	return closeAll, nil
}

// servedFolder is the folder or file of MODEL, and what is to be said about it.
func servedFolder(c *cli.Context, path string) (folder, note string, err error) {
	tellPolicy(c, path)
	found, err := findQuietly(c, path, c.String(checkpointFlag.Name))
	if err != nil || found.Note == "" {
		return found.Dir, "", err
	}
	note = found.Note
	if _, err := os.Stat(filepath.Join(path, "receipt.json")); err != nil {
		note += "; the run is not finished: to serve a later checkpoint, start the server again"
	}
	return found.Dir, note, nil
}

// servedName tells whether clients can ask for a model by a name, also in an address.
func servedName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if !regexp.MustCompile(`^\w[\w.:@+-]*$`).MatchString(part) {
			return false
		}
	}
	return true
}

const servedNames = "of letters, digits and . _ : @ + - that begins with no sign but _; slashes between such parts"

// nameOf is the name of a model in requests: that of its folder or file.
func nameOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil { // "." has a name too
		path = abs
	}
	return strings.TrimSuffix(filepath.Base(path), ".gguf")
}

// tokenOf reads --token-file; "" where there is none.
func tokenOf(c *cli.Context) (string, error) {
	path := secretFile(c, "token-file")
	if path == "" {
		return "", nil
	}
	data, err := files.Read(path, 4096)
	if err != nil {
		return "", fmt.Errorf("%w: --token-file: %w", lines.ErrInput, err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < 16 || strings.ContainsAny(token, " \t\r\n") {
		return "", hint.With(fmt.Errorf("%w: --token-file %s: found %d characters; accepted: one line of at least 16 characters without spaces", lines.ErrInput, path, len(token)), "openssl rand -hex 16 makes one")
	}
	return token, nil
}

// digestOf is the hash of the files that a model was read from, its adapter's included.
func digestOf(folder, adapter string) (string, error) {
	f, err := hf.ReadFolder(folder)
	if err != nil {
		return "", err
	}
	f.Tensors.Close()
	var all strings.Builder
	seen := map[string]bool{"": true}
	for _, dir := range []string{folder, f.Dir, f.Adapter, adapter} {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		origin, err := receipts.OriginOf(dir)
		if err != nil {
			return "", err
		}
		for _, file := range origin.Files {
			fmt.Fprintln(&all, file.Name, file.SHA256)
		}
	}
	return receipts.Sum([]byte(all.String())), nil
}

// announce says what is served and where.
func announce(c *cli.Context, s *serve.Server, door *web.Server, folder, name, note string) {
	out := c.App.ErrWriter
	fmt.Fprintf(out, "model    %s: %s\n", name, folder)
	if note != "" {
		fmt.Fprintf(out, "         %s\n", note)
	}
	for _, text := range c.StringSlice(adapterFlag.Name) {
		name, dir, _ := strings.Cut(text, "=")
		fmt.Fprintf(out, "         %s: with the adapter %s\n", name, dir)
	}
	if err := s.Chats(); err != nil {
		why, hints := explain(err)
		fmt.Fprintf(out, "chat     no: %s\n", why)
		for _, h := range hints {
			fmt.Fprintf(out, "         %s\n", h)
		}
	}
	fmt.Fprintf(out, "address  %s\n", door.URL())
	if token := door.Token(); token != "" && !c.IsSet("token-file") {
		fmt.Fprintf(out, "token    %s (clients send it as their API key)\n", token)
	}
	if door.Open() {
		warn(c, []string{"other machines reach the server without TLS, so others on the network can read tokens and texts; --tls-cert and --tls-key prevent that"})
	}
}

// answer serves until it is interrupted or the device is lost.
func answer(c *cli.Context, s *serve.Server, door *web.Server) error {
	ctx, done := interruptible(c)
	defer done()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case err := <-s.Lost():
			stop(err)
		case <-ctx.Done():
		}
	}()
	if err := door.Serve(ctx, s.Handler()); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
