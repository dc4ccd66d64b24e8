package bus

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/nats-io/nkeys"
)

// Key is the secret of a worker or a trainer.
type Key struct{ pair nkeys.KeyPair }

// NewKey makes a key, and the text that a file keeps of it.
func NewKey() (Key, []byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return Key{}, nil, err
	}
	seed, err := pair.Seed()
	return Key{pair}, append(seed, '\n'), err
}

// ParseKey reads the text of a key file.
func ParseKey(text []byte) (Key, error) {
	pair, err := nkeys.FromSeed(bytes.TrimSpace(text))
	if err == nil {
		var public string
		if public, err = pair.PublicKey(); err == nil && !nkeys.IsValidPublicUserKey(public) {
			err = errors.New("it is a key of another kind")
		}
	}
	if err != nil {
		return Key{}, fmt.Errorf("this is not the key of a worker or trainer: %w", err)
	}
	return Key{pair}, nil
}

// Public is the half of the key that others may know.
func (k Key) Public() string {
	if k.pair == nil {
		return ""
	}
	public, _ := k.pair.PublicKey() // a user key that was parsed has one
	return public
}

// ParseAllowed reads a list of public keys: one a line, with a comment after #.
func ParseAllowed(text string) ([]string, error) {
	var keys []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		key, _, _ := strings.Cut(line, "#")
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		if !nkeys.IsValidPublicUserKey(key) {
			return nil, fmt.Errorf("line %d: %q is not the public key of a worker", number, key)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// certificate is one of the key itself. Whoever checks it compares the key: names and
// dates in it mean nothing.
func (k Key) certificate() (tls.Certificate, error) {
	seed, err := k.pair.Seed()
	if err != nil {
		return tls.Certificate{}, err
	}
	_, raw, err := nkeys.DecodeSeed(seed)
	if err != nil {
		return tls.Certificate{}, err
	}
	private := ed25519.NewKeyFromSeed(raw)
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rlzero"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(nil, form, form, private.Public(), private) // Ed25519 needs no random numbers
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}

// pinned accepts the server that has a public key, and no other.
func pinned(public string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // the names of the certificate; its key is checked instead
		VerifyConnection: func(c tls.ConnectionState) error {
			got, ok := c.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok {
				return fmt.Errorf("%w: its certificate has no Ed25519 key", errOtherServer)
			}
			if text, err := nkeys.Encode(nkeys.PrefixByteUser, got); err != nil || string(text) != public {
				return fmt.Errorf("%w: it has the key %s, but the address names %s", errOtherServer, text, public)
			}
			return nil
		},
	}
}

// errOtherServer: whoever answers is not the trainer that the worker was told of.
var errOtherServer = fmt.Errorf("%w: this is another server", ErrShut)
