package main

import (
	"os"
	"os/exec"
	"testing"
)

// The committed files are what the compiler makes of the templates.
func TestUpToDate(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: make check does the same")
	}
	if _, err := exec.LookPath("naga"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("naga is not on PATH: cargo install naga-cli --version 30.0.1")
		}
		t.Skip("naga is not on PATH: the committed SPIR-V was not compared with the templates")
	}
	t.Chdir("../..")
	if err := run(true, ""); err != nil {
		t.Fatal(err)
	}
}

// Packed files come back as they were.
func TestPack(t *testing.T) {
	data := []byte("abc abc abc abc")
	back, err := unpack(pack(data))
	if err != nil || string(back) != string(data) {
		t.Errorf("%q, %v", back, err)
	}
	if _, err := unpack(data); err == nil {
		t.Error("no error for data that is not packed")
	}
}
