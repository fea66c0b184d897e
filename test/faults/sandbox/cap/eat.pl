# Eats one thing, up to three times what the bot may have, and tells in a file when it was stopped: eat.pl <what> <file> <limit>.
# A limit that does not hold is found by `not held` in that file.
use strict;
use warnings;
use POSIX ':sys_wait_h';
use Time::HiRes qw(time sleep);

my ($what, $file, $limit) = @ARGV;
my $mebibyte = 1024 * 1024;

sub tell_it {
    my ($word, $when) = @_;
    open my $out, '>', "$file.part" or die $!;
    print $out "$word ", $when // time, "\n";
    close $out;
    rename "$file.part", $file;
}

sub swallow {
    my ($mebibytes) = @_;
    my @kept;
    # Each of its own: one long text would be copied as it grows.
    push @kept, chr(65 + $_ % 26) x (4 * $mebibyte) for 1 .. $mebibytes / 4;
    sleep 20;
    return scalar @kept;
}

# Waits for children that eat; the first that was ended from outside says when.
sub follow {
    my (@children) = @_;
    my $left = @children;
    while ($left > 0) {
        my $pid = waitpid -1, 0;
        last if $pid < 0;
        $left -= 1;
        next unless WIFSIGNALED($?);
        tell_it('ended');
        kill KILL => @children;
        return;
    }
    tell_it('not held');
}

sub child {
    my ($do) = @_;
    my $pid = fork;
    return undef unless defined $pid;
    return $pid if $pid > 0;
    $do->();
    exit 0;
}

if ($what eq 'memory') {
    follow(child(sub { swallow(3 * $limit) }));
} elsif ($what eq 'many') {
    follow(map { child(sub { swallow(3 * $limit / 8) }) } 1 .. 8);
} elsif ($what eq 'itself') {
    swallow(3 * $limit);
    tell_it('not held');
} elsif ($what eq 'files') {
    follow(child(sub {
        open my $out, '>', '/tmp/eaten' or die $!;
        for (1 .. 3 * $limit) { print $out 'x' x $mebibyte or last; $out->flush; }
        sleep 20;
    }));
    unlink '/tmp/eaten';
} elsif ($what eq 'disk') {
    # Slowly, so that a look sees it while it writes.
    follow(child(sub {
        open my $out, '>', 'eaten' or die $!;
        for (1 .. 3 * $limit) { print $out 'x' x $mebibyte or last; $out->flush; sleep 0.05; }
    }));
    unlink 'eaten';
} elsif ($what eq 'processor') {
    my $began = time;
    my $until = $began + 10;
    my @children = map { child(sub { 1 while time < $until; }) } 1 .. 3;
    1 while waitpid(-1, 0) > 0;
    my (undef, undef, $user, $system) = times;
    my $cores = ($user + $system) / (time - $began);
    # It began to wait as soon as it had eaten its share.
    tell_it($cores > 1.5 * $limit ? 'not held' : 'waited', $began);
} elsif ($what eq 'processes' or $what eq 'bomb') {
    my @children;
    my $refused = 0;
    for (1 .. 3 * $limit) {
        # Half of what a bomb starts starts more.
        my $pid = child(sub {
            if ($what eq 'bomb') { child(sub { sleep 20 }) for 1 .. 2; }
            sleep 20;
        });
        if (!defined $pid) { $refused = 1; last; }
        push @children, $pid;
        last if waitpid(-1, WNOHANG) > 0 and $refused = 1;
    }
    if ($refused) { tell_it('refused'); } else { follow(@children); }
    kill KILL => @children;
    1 while waitpid(-1, 0) > 0;
}
