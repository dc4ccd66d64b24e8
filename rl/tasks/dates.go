package tasks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Dates and times: calendar_arithmetic, time_intervals. All dates are of the
// proleptic Gregorian calendar in UTC.

var dayCount = regexp.MustCompile(`(?i)\s*days?$`)

// checkCalendar: a weekday or yes and no in any case, or a number, "days" after
// it or not.
func checkCalendar(row verify.Problem, answer string) error {
	if _, err := verify.ParseNumber(row.Answer, true); err == nil {
		return sameNumber(row, dayCount.ReplaceAllString(answer, ""))
	}
	return sameFold(row, answer)
}

const longDate = "Monday, 2 January 2006"

func day(year, yearDay int) time.Time { return time.Date(year, 1, yearDay, 0, 0, 0, 0, time.UTC) }

func init() {
	type settings struct {
		Year             int `toml:"year" range:"[1583,9000]" about:"year of the dates"`
		OffsetUpperBound int `toml:"offset_upper_bound" range:"[1,100000]" about:"largest offset, in days"`
		LeapYearRange    int `toml:"leap_year_range" range:"[1,1000]" about:"largest distance of a leap-year question from the year"`
	}
	kinds := []func(s *settings, r *random.Rand) (question, answer string){
		func(s *settings, r *random.Rand) (string, string) {
			d := day(s.Year, r.Between(1, 365))
			return "Which day of the week is " + d.Format("2 January 2006") + "? The answer is the name of a weekday.", d.Weekday().String()
		},
		func(s *settings, r *random.Rand) (string, string) {
			d, jump := day(s.Year, r.Between(1, 365)), r.Between(1, s.OffsetUpperBound)
			way, sign := "after", 1
			if r.Chance(0.5) {
				way, sign = "before", -1
			}
			return fmt.Sprintf("Which day of the week is %d days %s %s? The answer is the name of a weekday.", jump, way, d.Format(longDate)), d.AddDate(0, 0, sign*jump).Weekday().String()
		},
		func(s *settings, r *random.Rand) (string, string) {
			a := day(s.Year, r.Between(1, 365))
			b, want := a.AddDate(0, 0, r.Between(1, s.OffsetUpperBound)), time.Weekday(r.Between(0, 6))
			n := 0
			for d := a; !d.After(b); d = d.AddDate(0, 0, 1) {
				if d.Weekday() == want {
					n++
				}
			}
			return fmt.Sprintf("How many %ss are there from %s to %s, counting both ends? The answer is a number.", want, a.Format(longDate), b.Format(longDate)), strconv.Itoa(n)
		},
		func(s *settings, r *random.Rand) (string, string) {
			a := day(s.Year, r.Between(1, 365))
			b := a.AddDate(0, 0, r.Between(1, s.OffsetUpperBound))
			n := 0
			for d := a; !d.After(b); d = d.AddDate(0, 0, 1) {
				if d.Weekday() != time.Saturday && d.Weekday() != time.Sunday {
					n++
				}
			}
			return fmt.Sprintf("How many days from Monday to Friday are there from %s to %s, counting both ends? Holidays count like other days. The answer is a number.", a.Format(longDate), b.Format(longDate)), strconv.Itoa(n)
		},
		func(s *settings, r *random.Rand) (string, string) {
			year := s.Year + r.Between(-s.LeapYearRange, s.LeapYearRange)
			answer := "No"
			if day(year+1, 1).Sub(day(year, 1)) > 365*24*time.Hour {
				answer = "Yes"
			}
			return fmt.Sprintf("Is %d a leap year of the Gregorian calendar? The answer is Yes or No.", year), answer
		},
		func(s *settings, r *random.Rand) (string, string) {
			month, want := time.Month(r.Between(1, 12)), time.Weekday(r.Between(0, 6))
			nth := r.Between(1, 4)
			first := time.Date(s.Year, month, 1, 0, 0, 0, 0, time.UTC)
			date := 1 + (int(want-first.Weekday())+7)%7 + 7*(nth-1)
			ordinal := []string{"first", "second", "third", "fourth"}[nth-1]
			return fmt.Sprintf("On which day of the month is the %s %s of %s %d? The answer is a number.", ordinal, want, month, s.Year), strconv.Itoa(date)
		},
		func(s *settings, r *random.Rand) (string, string) {
			first, date := time.Weekday(r.Between(0, 6)), r.Between(2, 31)
			return fmt.Sprintf("A month begins on a %s. Which day of the week is its day %d? The answer is the name of a weekday.", first, date), ((first + time.Weekday(date-1)) % 7).String()
		},
	}
	generate(family[settings]{
		name: "calendar_arithmetic", summary: "find weekdays, count days, recognize leap years",
		about: `find a weekday, count weekdays or working days in a span, recognize leap years. Right:
the weekday, Yes or No in any case, or a number equal to the count; "days" may follow it.`,
		format:     "Give the answer alone.",
		defaults:   settings{2022, 100, 200},
		curriculum: []Attribute{{"offset_upper_bound", []float64{30, 100, 250, 365}, []string{"offset_upper_bound"}}},
		check:      checkCalendar,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			question, answer := pick(r, kinds)(s, r)
			return problem{question: question, answer: answer}, true
		},
	})
}

var durationForm = regexp.MustCompile(`(?i)^(?:(\d{1,9})(?:\s*days?)?\s*,\s*)?(\d{1,9}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?$|^(\d{1,9})\s*(?:days?)?$`)

// durationOf reads "H:M", "H:M:S", "H:M:S.f" and "D days", alone or in this
// order with a comma, as nanoseconds beside whole days.
func durationOf(text string) (days int, rest time.Duration, ok bool) {
	m := durationForm.FindStringSubmatch(strings.TrimSuffix(strings.TrimSpace(text), "."))
	if m == nil {
		return 0, 0, false
	}
	part := func(i int) int { // digits only, few enough to fit
		n, _ := strconv.Atoi(m[i])
		return n
	}
	fraction, _ := strconv.Atoi((m[5] + "000000000")[:9])
	if part(3) > 59 || part(4) > 59 {
		return 0, 0, false
	}
	rest = time.Duration(part(2))*time.Hour + time.Duration(part(3))*time.Minute + time.Duration(part(4))*time.Second + time.Duration(fraction)
	return part(1) + part(6), rest, true
}

func init() {
	type settings struct {
		MaxTimeDifferenceSeconds int `toml:"max_time_difference_seconds" range:"[2,86400]" about:"longest time span, in seconds"`
		MaxDateDifferenceDays    int `toml:"max_date_difference_days" range:"[1,100000]" about:"longest date span, in days"`
	}
	clock := func(d time.Duration, layout string) string { return time.Time{}.Add(d).Format(layout) }
	generate(family[settings]{
		name: "time_intervals", summary: "find the time between two moments",
		about: `find the span between two times of a day, two dates, or two moments with or without an
offset from UTC. Right: exactly that span; leading zeros and the word "days" may be
left out.`,
		format:   "Give the answer in that form alone.",
		defaults: settings{86400, 100},
		curriculum: []Attribute{
			{"max_time_difference_seconds", []float64{60, 3600, 10800, 21600, 32400, 43200, 86400}, []string{"max_time_difference_seconds"}},
			{"max_date_difference_days", []float64{1, 7, 30, 365, 1825}, []string{"max_date_difference_days"}},
		},
		check: func(row verify.Problem, answer string) error {
			wantDays, want, ok := durationOf(row.Answer)
			if !ok {
				return lacks("the row's answer is not a time span")
			}
			days, rest, ok := durationOf(answer)
			if !ok {
				return fmt.Errorf("%s is not a time span", short(answer))
			}
			return judged(row, days == wantDays && rest == want)
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			kind := r.Between(0, 5)
			if kind < 3 { // a time of day
				layout, unit := [...]string{"15:04", "15:04:05", "15:04:05.000"}[kind], [...]time.Duration{time.Minute, time.Second, time.Millisecond}[kind]
				from := time.Duration(r.Between(0, int(24*time.Hour/unit)-1)) * unit
				span := time.Duration(r.Between(1, int(max(time.Duration(s.MaxTimeDifferenceSeconds)*time.Second/unit, 1)))) * unit
				return problem{
					question: fmt.Sprintf("A train leaves at %s and arrives at %s of the same day. How long does it take? Write it in the form %s.", clock(from, layout), clock(from+span, layout), [...]string{"HH:MM", "HH:MM:SS", "HH:MM:SS.mmm"}[kind]),
					answer:   clock(span, layout),
				}, from+span < 24*time.Hour
			}
			start := day(r.Between(1900, 2999), r.Between(1, 365))
			if kind == 3 {
				days := r.Between(1, s.MaxDateDifferenceDays)
				return problem{
					question: fmt.Sprintf("A ship sails on %s and lands on %s. How many days pass? Write it in the form D days.", start.Format("2 January 2006"), start.AddDate(0, 0, days).Format("2 January 2006")),
					answer:   fmt.Sprintf("%d days", days),
				}, true
			}
			start = start.Add(time.Duration(r.Between(0, 86399)) * time.Second)
			days, rest := r.Between(0, s.MaxDateDifferenceDays), time.Duration(r.Between(0, 86399))*time.Second
			layout, end := "2006-01-02 15:04:05", start.AddDate(0, 0, days).Add(rest)
			if kind == 5 {
				layout += " -07:00"
				start = start.In(time.FixedZone("", 3600*r.Between(-11, 12)))
				end = end.In(time.FixedZone("", 3600*r.Between(-11, 12)))
			}
			return problem{
				question: fmt.Sprintf("A measurement runs from %s to %s. How long is that? Write it in the form D days, HH:MM:SS.", start.Format(layout), end.Format(layout)),
				answer:   fmt.Sprintf("%d days, %s", days, clock(rest, "15:04:05")),
			}, true
		},
	})
}
