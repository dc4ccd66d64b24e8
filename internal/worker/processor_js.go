package worker

import (
	"os"
	"time"
)

// A browser starts no processes, so there are no children that these could matter to.

var interruptions = []os.Signal{os.Interrupt}

func processorTime() time.Duration { return 0 }

func limitData(int) {}
