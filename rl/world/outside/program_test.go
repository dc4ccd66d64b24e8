package outside

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The program of these tests is the binary of the tests itself, started with arguments:
//
//	world MODE…   a world that does what its modes and the turns say, see speak
//	parent PIPE   a program that starts such a world, which opens a pipe and hangs
//	server MODE…  a server of tools, see serveTools
const (
	worldWord  = "world"
	parentWord = "parent"
	serverWord = "server"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == worldWord:
		speak(os.Args[2:])
		os.Exit(0)
	case len(os.Args) > 1 && os.Args[1] == serverWord:
		serveTools(os.Args[2:])
		os.Exit(0)
	case len(os.Args) > 2 && os.Args[1] == parentWord:
		New(Command{Words: []string{os.Args[0], worldWord, "hold=" + os.Args[2]}}, nil).Hello()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is the program of the tests in modes.
func program(t *testing.T, modes ...string) Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Words: append([]string{self, worldWord}, modes...)}
}

// game is an episode of the program.
type game struct {
	row    string
	chance string
	turns  []string
}

// speak is a world that says "N: TEXT" to the N-th turn, and is over after "win" and "lose". Some words of a turn
// are orders to misbehave.
func speak(modes []string) {
	has := func(mode string) bool {
		for _, m := range modes {
			if m == mode {
				return true
			}
		}
		return false
	}
	value := func(mode, without string) string {
		for _, m := range modes {
			if v, ok := strings.CutPrefix(m, mode+"="); ok {
				return v
			}
		}
		return without
	}
	out := bufio.NewWriter(os.Stdout)
	say := func(text string) {
		fmt.Fprintln(out, text)
		out.Flush()
	}
	quoted := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	if marker := value("slow", ""); marker != "" { // it says nothing once the file is there
		if _, err := os.Stat(marker); err == nil {
			hang()
		}
	}
	switch {
	case has("silent"):
		hang()
	case has("gone"):
		fmt.Fprintln(os.Stderr, "no such game")
		os.Exit(3)
	case value("hold", "") != "":
		if _, err := os.OpenFile(value("hold", ""), os.O_WRONLY, 0); err != nil {
			panic(err)
		}
		hang()
	case value("hello", "") != "":
		say(value("hello", ""))
	default:
		say(fmt.Sprintf(`{"protocol":1,"name":"test","pure":%v,"forks":true,"at_once":%s,"rows":%v,"judges":%v}`, !has("impure"), value("at_once", "64"), has("rows"), has("judges")))
	}
	if marker := value("poor", ""); marker != "" { // nothing works after the file is there
		if _, err := os.Stat(marker); err == nil {
			os.Exit(4)
		}
	}
	games, answers := map[string]*game{}, 0
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, MaxLine)
	for lines.Scan() {
		var o struct {
			ID, Op, Chance, Text, To string
			Row                      json.RawMessage
			Cut                      bool
			From                     int
		}
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		id := quoted(o.ID)
		answer := func(rest string) { say(`{"id":` + id + rest + `}`) }
		text := func(text string) { answer(`,"messages":[{"text":` + quoted(text) + `}]`) }
		if answers++; has("late=" + o.Op) {
			hang()
		}
		switch o.Op {
		case "rows":
			rows := []string{`{"question":"one?"}`, `{"question":"two?"}`, `{"hidden":3}`}
			say(`{"rows":[` + strings.Join(rows[min(o.From, 3):min(o.From+2, 3)], ",") + `]}`)
		case "begin":
			games[o.ID] = &game{row: string(o.Row), chance: o.Chance}
			if has("greets") {
				text("hello")
			} else {
				answer("")
			}
		case "close":
			delete(games, o.ID)
			answer("")
		case "fork":
			copied := *games[o.ID]
			copied.turns = append([]string{}, copied.turns...)
			games[o.To] = &copied
			answer("")
		case "judge":
			answer(fmt.Sprintf(`,"verdict":{"score":%v}`, float64(len(games[o.ID].turns))/10))
		case "step":
			g := games[o.ID]
			g.turns = append(g.turns, o.Text)
			switch word, rest, _ := strings.Cut(o.Text, " "); word {
			case "win":
				answer(`,"verdict":{"score":1,"reason":"won"},"reward":0.5`)
			case "lose":
				answer(`,"verdict":{"score":0}`)
			case "skip":
				answer(`,"verdict":{"score":0,"verdict":"not_scored","reason":"no idea"}`)
			case "chance":
				text(g.chance)
			case "row":
				text(g.row)
			case "facts":
				answer(`,"messages":[{"text":"."}],"facts":{"left":3},"state":"s","reward":-1`)
			case "variable":
				text(os.Getenv(rest))
			case "die":
				fmt.Fprintln(os.Stderr, "killed by", quoted(o.Text))
				os.Exit(5)
			case "hang":
				hang()
			case "never": // this one, while others are answered
			case "once": // the first process dies, later ones do not
				if _, err := os.Stat(rest); err != nil {
					if err := os.WriteFile(rest, nil, 0o600); err != nil {
						panic(err)
					}
					os.Exit(6)
				}
				text("again")
			case "poor": // it and all later processes die
				if err := os.WriteFile(rest, nil, 0o600); err != nil {
					panic(err)
				}
				os.Exit(6)
			case "error":
				answer(`,"error":"out of cards"`)
			case "flood":
				for {
					fmt.Fprint(out, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
				}
			case "chatter":
				for {
					say(`{"id":"x"}`)
				}
			case "say": // a line as it is
				say(strings.ReplaceAll(rest, "ID", o.ID))
			default:
				if has("impure") {
					text(fmt.Sprintf("%d of %d: %s", len(g.turns), answers, o.Text))
				} else {
					text(fmt.Sprintf("%d: %s", len(g.turns), o.Text))
				}
			}
		}
	}
}

// hang waits for ever.
func hang() {
	never, open, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	defer open.Close()
	never.Read(make([]byte, 1))
}
