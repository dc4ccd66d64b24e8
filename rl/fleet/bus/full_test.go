package bus

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/rlzero/rlzero/rl/fleet"
)

// TestBrokerFull: a server whose store takes nothing more carries a run all the same, as
// nothing of a run is kept there.
func TestBrokerFull(t *testing.T) {
	t.Parallel()
	full, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	go full.Start()
	t.Cleanup(func() { full.Shutdown(); full.WaitForShutdown() })
	if !full.ReadyForConnections(startTime) {
		t.Fatal("the server does not listen")
	}
	nc, err := nats.Connect(full.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := nc.JetStream()
	if err == nil {
		_, err = js.AddStream(&nats.StreamConfig{Name: "others", Subjects: []string{"others"}, Storage: nats.FileStorage})
	}
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; err == nil; n++ {
		if n > 100 {
			t.Fatal("the store takes all")
		}
		_, err = js.Publish("others", make([]byte, 4<<10))
	}
	t.Logf("the store is full: %v", err)

	d := Door{URL: full.ClientURL()}
	s := begin(t, Options{Door: d}, fleet.Exact)
	works(t, d, nil)
	works(t, d, nil)
	s.joins(t, 2)
	for range 3 {
		s.step(t)
	}
	s.answered(t)
	if n := s.fleet.Counts(); n.Answered == 0 || n.Refused > 0 {
		t.Errorf("%+v", n)
	}
}
