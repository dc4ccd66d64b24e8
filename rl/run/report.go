package run

import (
	"github.com/rlzero/rlzero/rl/store"
)

// ReportFile is the report of a run in its folder.
const ReportFile = "report.html"

// reporter observes a run and writes its report: after each evaluation, of some of the
// held-out problems or of all, and when the run ends or is interrupted. It comes after the
// logs, which the report is made from. A report that cannot be written ends no run:
// rlzero report makes it at any time.
type reporter struct {
	made    func(dir string) ([]byte, error)
	folder  *store.Run
	display *display
}

// on implements observer.
func (p *reporter) on(e event) error {
	switch e.Kind {
	case measured, refused, ended:
	case stepped:
		if _, evaluated := e.Metrics["eval/pass@1"]; !evaluated {
			return nil
		}
	default:
		return nil
	}
	html, err := p.made(p.folder.Dir())
	if err == nil {
		err = p.folder.WriteFile(ReportFile, html)
	}
	if err != nil {
		p.display.show.Line("the report could not be written: %v", err)
	}
	return nil
}
